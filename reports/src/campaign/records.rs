//! Adds to a campaign what its per-request records say.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::{Campaign, Repetition};
use crate::audit;
use crate::model::{Sampled, Slo};

/// Most files that are read at once: each holds up to an audit's memory.
const AT_ONCE: usize = 4;

impl Campaign {
    /// Reads the per-request records of every repetition that has some. Records that cannot be used are a warning: the
    /// stages' documents say what they say without them.
    pub fn add_records(&mut self, slo: Option<&Slo>) {
        let repetitions: Vec<&mut Repetition> =
            self.treatments.iter_mut().flat_map(|treatment| &mut treatment.repetitions).collect();
        let found = read(&repetitions, slo);
        for (repetition, found) in repetitions.into_iter().zip(found) {
            match found {
                Ok(None) => {}
                Ok(Some(sampled)) => {
                    for (stage, sampled) in repetition.stages.iter_mut().zip(sampled) {
                        stage.sampled = Some(Arc::new(sampled));
                    }
                }
                Err(error) => self.warnings.push(format!("records not used: {error}")),
            }
        }
    }
}

type Found = Result<Option<Vec<Sampled>>, String>;

/// What each repetition's records say, in their order; some files at a time, because a file is read by one core.
fn read(repetitions: &[&mut Repetition], slo: Option<&Slo>) -> Vec<Found> {
    let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(repetition) = repetitions.get(index) else { return done };
            done.push((index, audit::samples(&repetition.dir, &repetition.stages, slo)));
        }
    };
    let mut found: Vec<(usize, Found)> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..cores.min(AT_ONCE).min(repetitions.len())).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap_or_default()).collect()
    });
    found.sort_by_key(|(index, _)| *index);
    let lost = |repetition: &&mut Repetition| Err(format!("{}: reading ended early", repetition.dir.display()));
    let mut all: Vec<Found> = repetitions.iter().map(lost).collect();
    for (index, found) in found {
        all[index] = found;
    }
    all
}
