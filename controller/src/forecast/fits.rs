//! Whether a workload can run at all on the servers it is meant for.

use testbed::config::Hardware;
use testbed::forecast::{Prompts, Shape};

use super::{unusable, workload};
use crate::failure::Result;
use crate::harness::Workload;

/// Checks that every prompt of a workload fits into a server's KV cache with its answer: one that does not would wait for
/// ever. Says nothing about workloads whose lengths are not known from their configuration.
///
/// # Errors
/// A usage failure that names the lengths and the cache's size.
pub fn require_admissible(document: &Workload, hardware: &Hardware) -> Result<()> {
    let Ok((shape, _)) = workload::read(document) else { return Ok(()) };
    let (input, output) = match shape {
        Shape::SharedPrefix { prefix_tokens, question_tokens, output_tokens, .. } => {
            (prefix_tokens.saturating_add(question_tokens), output_tokens)
        }
        Shape::Distinct { input, output, .. } => (input.max, output.max),
    };
    Prompts::admissible(hardware, input, output).map_err(unusable)
}
