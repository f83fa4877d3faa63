//! Figures of the published campaign `optimized-baseline-v0230-gateway-refresh-20260817`, from its reports' metrics.csv.

/// One rate of one treatment; times in seconds.
#[derive(Clone, Copy, Debug)]
pub struct Published {
    /// Requested requests a second.
    pub rate: u32,
    /// Completed requests a second.
    pub request_rate: f64,
    /// Median time to first token.
    pub ttft_p50: f64,
    /// 90th percentile of the time to first token.
    pub ttft_p90: f64,
    /// Median time between tokens.
    pub itl_p50: f64,
}

/// A plain Service.
pub const SERVICE: [Published; 16] = [
    Published { rate: 3, request_rate: 1.5977, ttft_p50: 0.48555, ttft_p90: 0.51484, itl_p50: 0.016129 },
    Published { rate: 10, request_rate: 4.7126, ttft_p50: 0.50646, ttft_p90: 0.95029, itl_p50: 0.022294 },
    Published { rate: 15, request_rate: 4.4889, ttft_p50: 0.57182, ttft_p90: 1.7923, itl_p50: 0.027927 },
    Published { rate: 20, request_rate: 6.0799, ttft_p50: 2.4822, ttft_p90: 36.01, itl_p50: 0.030047 },
    Published { rate: 22, request_rate: 6.1229, ttft_p50: 3.8684, ttft_p90: 36.788, itl_p50: 0.030201 },
    Published { rate: 25, request_rate: 5.9402, ttft_p50: 6.6936, ttft_p90: 41.226, itl_p50: 0.030117 },
    Published { rate: 30, request_rate: 6.0826, ttft_p50: 6.9627, ttft_p90: 42.615, itl_p50: 0.03023 },
    Published { rate: 35, request_rate: 5.9519, ttft_p50: 7.6381, ttft_p90: 45.197, itl_p50: 0.030224 },
    Published { rate: 40, request_rate: 6.7618, ttft_p50: 78.042, ttft_p90: 124.53, itl_p50: 0.030391 },
    Published { rate: 43, request_rate: 6.7678, ttft_p50: 80.184, ttft_p90: 129.19, itl_p50: 0.030408 },
    Published { rate: 46, request_rate: 6.6569, ttft_p50: 65.343, ttft_p90: 131.97, itl_p50: 0.030438 },
    Published { rate: 49, request_rate: 6.5942, ttft_p50: 55.118, ttft_p90: 131.31, itl_p50: 0.030431 },
    Published { rate: 52, request_rate: 6.7806, ttft_p50: 71.968, ttft_p90: 133.61, itl_p50: 0.030387 },
    Published { rate: 55, request_rate: 6.7155, ttft_p50: 56.388, ttft_p90: 133.57, itl_p50: 0.030485 },
    Published { rate: 57, request_rate: 6.6696, ttft_p50: 55.248, ttft_p90: 134.33, itl_p50: 0.030463 },
    Published { rate: 60, request_rate: 6.7019, ttft_p50: 62.94, ttft_p90: 135.6, itl_p50: 0.030317 },
];

/// agentgateway beside the endpoint picker.
pub const STANDALONE: [Published; 16] = [
    Published { rate: 3, request_rate: 1.7375, ttft_p50: 0.082362, ttft_p90: 0.14574, itl_p50: 0.015741 },
    Published { rate: 10, request_rate: 5.0024, ttft_p50: 0.090745, ttft_p90: 0.15758, itl_p50: 0.02027 },
    Published { rate: 15, request_rate: 6.9064, ttft_p50: 0.092256, ttft_p90: 0.17433, itl_p50: 0.022459 },
    Published { rate: 20, request_rate: 11.328, ttft_p50: 0.18089, ttft_p90: 0.26252, itl_p50: 0.029749 },
    Published { rate: 22, request_rate: 12.065, ttft_p50: 0.11328, ttft_p90: 0.14295, itl_p50: 0.029076 },
    Published { rate: 25, request_rate: 12.482, ttft_p50: 0.11348, ttft_p90: 0.14459, itl_p50: 0.030257 },
    Published { rate: 30, request_rate: 13.197, ttft_p50: 0.11496, ttft_p90: 0.14501, itl_p50: 0.033268 },
    Published { rate: 35, request_rate: 13.256, ttft_p50: 0.11405, ttft_p90: 0.14507, itl_p50: 0.033587 },
    Published { rate: 40, request_rate: 16.165, ttft_p50: 0.14955, ttft_p90: 0.21646, itl_p50: 0.048112 },
    Published { rate: 43, request_rate: 16.288, ttft_p50: 0.14852, ttft_p90: 0.21054, itl_p50: 0.049112 },
    Published { rate: 46, request_rate: 15.997, ttft_p50: 0.15005, ttft_p90: 0.21541, itl_p50: 0.050098 },
    Published { rate: 49, request_rate: 16.198, ttft_p50: 0.1461, ttft_p90: 0.21261, itl_p50: 0.050634 },
    Published { rate: 52, request_rate: 16.176, ttft_p50: 0.1489, ttft_p90: 0.21325, itl_p50: 0.05193 },
    Published { rate: 55, request_rate: 16.174, ttft_p50: 0.14985, ttft_p90: 0.22073, itl_p50: 0.051735 },
    Published { rate: 57, request_rate: 16.139, ttft_p50: 0.14557, ttft_p90: 0.21337, itl_p50: 0.05155 },
    Published { rate: 60, request_rate: 16.521, ttft_p50: 0.1482, ttft_p90: 0.21448, itl_p50: 0.052674 },
];

/// agentgateway as a Gateway, the endpoint picker over the network.
pub const GATEWAY: [Published; 16] = [
    Published { rate: 3, request_rate: 1.6299, ttft_p50: 0.084375, ttft_p90: 0.15394, itl_p50: 0.015584 },
    Published { rate: 10, request_rate: 5.0693, ttft_p50: 0.091085, ttft_p90: 0.16458, itl_p50: 0.020663 },
    Published { rate: 15, request_rate: 7.0159, ttft_p50: 0.096733, ttft_p90: 0.17632, itl_p50: 0.022105 },
    Published { rate: 20, request_rate: 10.925, ttft_p50: 0.13021, ttft_p90: 0.27101, itl_p50: 0.028582 },
    Published { rate: 22, request_rate: 11.462, ttft_p50: 0.12165, ttft_p90: 0.16471, itl_p50: 0.028283 },
    Published { rate: 25, request_rate: 11.877, ttft_p50: 0.12162, ttft_p90: 0.1645, itl_p50: 0.029184 },
    Published { rate: 30, request_rate: 12.405, ttft_p50: 0.12506, ttft_p90: 0.16809, itl_p50: 0.031307 },
    Published { rate: 35, request_rate: 12.253, ttft_p50: 0.12272, ttft_p90: 0.16175, itl_p50: 0.03339 },
    Published { rate: 40, request_rate: 14.257, ttft_p50: 0.158, ttft_p90: 0.22505, itl_p50: 0.044776 },
    Published { rate: 43, request_rate: 14.109, ttft_p50: 0.15981, ttft_p90: 0.22805, itl_p50: 0.046435 },
    Published { rate: 46, request_rate: 14.061, ttft_p50: 0.1607, ttft_p90: 0.23568, itl_p50: 0.046175 },
    Published { rate: 49, request_rate: 14.073, ttft_p50: 0.15812, ttft_p90: 0.22942, itl_p50: 0.045671 },
    Published { rate: 52, request_rate: 13.987, ttft_p50: 0.15902, ttft_p90: 0.23161, itl_p50: 0.048153 },
    Published { rate: 55, request_rate: 13.823, ttft_p50: 0.15782, ttft_p90: 0.23164, itl_p50: 0.047699 },
    Published { rate: 57, request_rate: 13.835, ttft_p50: 0.16242, ttft_p90: 0.23524, itl_p50: 0.048363 },
    Published { rate: 60, request_rate: 13.962, ttft_p50: 0.16036, ttft_p90: 0.24196, itl_p50: 0.049641 },
];
