//! The gRPC service: a task for each request that a proxy asks about.

use std::sync::Arc;
use std::time::Duration;

use envoy_types::pb::envoy::service::ext_proc::v3::external_processor_server::ExternalProcessor;
use envoy_types::pb::envoy::service::ext_proc::v3::{ProcessingRequest, ProcessingResponse};
use testbed::serve::Choices;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status, Streaming};

use crate::config::Config;
use crate::exchange;
use crate::numbers::Numbers;

/// Messages that wait for a proxy; while they do, nothing more of its stream is read.
const QUEUE: usize = 16;

/// What all exchanges share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) choices: Arc<Choices>,
    pub(crate) numbers: Arc<Numbers>,
    /// The servers' addresses, `ip:port`.
    pub(crate) servers: Vec<String>,
    pub(crate) most_in_flight: Option<u64>,
    pub(crate) delay: Duration,
}

/// The external processor.
#[derive(Clone, Debug)]
pub struct Processor {
    shared: Arc<Shared>,
}

impl Processor {
    /// A processor that asks `choices` and counts in `numbers`.
    pub fn new(config: &Config, choices: Arc<Choices>, numbers: Arc<Numbers>) -> Self {
        let servers = config.servers.iter().map(ToString::to_string).collect();
        let delay = Duration::from_secs_f64(config.delay_seconds);
        let shared = Shared { choices, numbers, servers, most_in_flight: config.most_in_flight, delay };
        Self { shared: Arc::new(shared) }
    }
}

#[tonic::async_trait]
impl ExternalProcessor for Processor {
    type ProcessStream = ReceiverStream<Result<ProcessingResponse, Status>>;

    async fn process(
        &self,
        request: Request<Streaming<ProcessingRequest>>,
    ) -> Result<Response<Self::ProcessStream>, Status> {
        let (out, answers) = mpsc::channel(QUEUE);
        tokio::spawn(exchange::run(request.into_inner(), out, Arc::clone(&self.shared)));
        Ok(Response::new(ReceiverStream::new(answers)))
    }
}
