//! A campaign in virtual time: the engine of the testbed without a clock, without HTTP, without waiting.
//!
//! A [`Setup`] is one treatment: servers of one hardware model, behind a plain Service or an endpoint picker, under one
//! workload. [`Setup::run`] carries the whole ladder out for one seed and returns what a load generator would have seen,
//! stage by stage. Runs of different seeds differ as repetitions do: in arrivals, in the order of prompts, in where
//! prompt groups land. Time is linear in requests: a run of the published ladder (17,000 requests) takes about 50 ms.
//!
//! Not modelled: the client's own limits, failed requests, networks, and answers shorter than asked for.

mod driver;
mod gaps;
mod load;
mod outcome;
mod prompts;

pub use gaps::Gaps;
pub use load::{Arrivals, Load, StageLoad};
pub use outcome::StageOutcome;
pub use prompts::{Lengths, Prompts, Shape};

use std::sync::Arc;

use crate::config::{Hardware, Policy};
use crate::engine::{Picker, Rejection};

/// Why a workload cannot be run in virtual time.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Error {
    /// A request could never run.
    #[error(transparent)]
    Rejected(#[from] Rejection),
    /// There is nothing to send.
    #[error("the workload has no prompts")]
    NoPrompts,
    /// More prompts than can be counted.
    #[error("the workload has more prompts than fit into memory: fewer groups, or fewer prompts in each")]
    TooManyPrompts,
    /// There is nowhere to send it.
    #[error("there is no server: at least one is needed")]
    NoServers,
    /// A hardware model whose values are impossible.
    #[error("the hardware model: {0}")]
    Hardware(String),
    /// Requests that no server finished; a fault of the engine.
    #[error("{0} requests never finished")]
    Unfinished(usize),
}

/// What stands in front of the servers.
#[derive(Clone, Debug)]
pub enum Route {
    /// A plain Service: a server chosen at random for each request.
    Service,
    /// An endpoint picker that carries out a policy.
    Picker(Arc<Policy>),
}

/// One treatment under one workload.
#[derive(Clone, Debug)]
pub struct Setup {
    hardware: Hardware,
    servers: usize,
    route: Route,
    delay: f64,
    prompts: Arc<Prompts>,
    load: Arc<Load>,
}

impl Setup {
    /// `servers` servers of `hardware` behind `route`. `seed` is that of the workload's lengths.
    ///
    /// # Errors
    /// When the hardware model is impossible, there is no server, or a prompt could never be admitted.
    pub fn new(
        hardware: &Hardware,
        servers: usize,
        route: Route,
        shape: &Shape,
        load: Load,
        seed: u64,
    ) -> Result<Self, Error> {
        hardware.check().map_err(Error::Hardware)?;
        if servers == 0 {
            return Err(Error::NoServers);
        }
        let blocks = match &route {
            Route::Service => (64, 0),
            Route::Picker(policy) => picker(policy, servers, hardware, 0).blocks(),
        };
        let prompts = Arc::new(Prompts::new(shape, hardware, blocks, seed)?);
        Ok(Self { hardware: hardware.clone(), servers, route, delay: 0.0, prompts, load: Arc::new(load) })
    }

    /// The same with `seconds` added to each request's way.
    #[must_use]
    pub fn delayed(self, seconds: f64) -> Self {
        Self { delay: seconds, ..self }
    }

    /// The same prompts and load with other coefficients; the KV cache stays as it is.
    ///
    /// # Errors
    /// When the hardware model is impossible.
    pub fn with_hardware(&self, hardware: Hardware) -> Result<Self, Error> {
        hardware.check().map_err(Error::Hardware)?;
        let kv_cache = self.hardware.kv_cache;
        Ok(Self { hardware: Hardware { kv_cache, ..hardware }, ..self.clone() })
    }

    /// How many servers.
    pub fn servers(&self) -> usize {
        self.servers
    }

    /// The ladder.
    pub fn load(&self) -> &Load {
        &self.load
    }

    /// Carries the ladder out for one seed.
    ///
    /// # Errors
    /// [`Error::Unfinished`], which would be a fault of the engine.
    pub fn run(&self, seed: u64) -> Result<Vec<StageOutcome>, Error> {
        driver::run(self, seed)
    }
}

/// A picker as a treatment of this hardware would have it.
fn picker(policy: &Policy, servers: usize, hardware: &Hardware, seed: u64) -> Picker {
    let mut picker = Picker::new(policy, servers, seed);
    picker.tune(&hardware.kv_cache);
    picker
}

#[cfg(test)]
mod tests;
