//! A run's samples as an object: what quantiles can be computed from again.

use std::collections::BTreeMap;
use std::io::{Read, Write};

use reports::gate::metric::Metric;
use reports::gate::observe::RunSamples;
use reports::gate::samples::StageSamples;

/// A format that a newer program may change.
const MAGIC: &[u8; 8] = b"gatesmp1";

/// Compresses a run's samples: for each stage and metric the latencies in microseconds' precision, as 32-bit floats of their
/// logarithms, in the order in which the requests started.
pub(super) fn encode(samples: &RunSamples) -> std::io::Result<Vec<u8>> {
    let mut encoder = zstd::Encoder::new(Vec::new(), 9)?;
    encoder.write_all(MAGIC)?;
    for (stage, values) in &samples.stages {
        for (metric, logs) in &values.logs {
            let head = format!("{stage} {} {}\n", metric.key(), logs.len());
            encoder.write_all(head.as_bytes())?;
            for log in logs {
                encoder.write_all(&(*log as f32).to_le_bytes())?;
            }
        }
    }
    encoder.finish()
}

/// Reads them back; `None` when the bytes are something else.
pub(super) fn decode(bytes: &[u8]) -> Option<BTreeMap<String, StageSamples>> {
    let mut content = Vec::new();
    zstd::Decoder::new(bytes).ok()?.take(1 << 30).read_to_end(&mut content).ok()?;
    let mut rest = content.strip_prefix(MAGIC.as_slice())?;
    let mut stages: BTreeMap<String, StageSamples> = BTreeMap::new();
    while !rest.is_empty() {
        let end = rest.iter().position(|&byte| byte == b'\n')?;
        let head = std::str::from_utf8(&rest[..end]).ok()?;
        rest = &rest[end + 1..];
        let mut parts = head.rsplitn(3, ' ');
        let count: usize = parts.next()?.parse().ok()?;
        let metric = Metric::from_key(parts.next()?)?;
        let stage = parts.next()?.to_owned();
        let values = rest.get(..count.checked_mul(4)?)?;
        rest = &rest[values.len()..];
        let logs =
            values.chunks_exact(4).map(|bytes| f64::from(f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])));
        stages.entry(stage).or_default().logs.push((metric, logs.collect()));
    }
    Some(stages)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_read_back_and_other_bytes_do_not() {
        let logs = vec![-1.5, 0.25, -3.0];
        let stage = StageSamples { logs: vec![(Metric::Ttft, logs.clone()), (Metric::RequestLatency, vec![1.0])] };
        let stages = BTreeMap::from([("rate=3".to_owned(), stage)]);
        let samples = RunSamples { treatment: "service".into(), repetition: 1, stages: stages.clone() };
        let bytes = encode(&samples).unwrap();
        assert_eq!(decode(&bytes), Some(stages));
        assert_eq!(decode(&bytes[..bytes.len() - 3]), None);
        assert_eq!(decode(b"something else"), None);
    }
}
