//! What a campaign would take and cost, by release policy, on paper.
//!
//! A stage lasts as long as it sends, or as long as the servers need for its requests where they do not keep up, plus the
//! answer of its last request. A run holds GPU nodes from the request for them to the moment none is left:
//!
//! - `after-load`: start-up, load, release
//! - `after-run`: start-up, load, collection, release
//! - `never`: as after-run with everything else of a run, from the first run to the campaign's cleanup
//! - shared: start-up and release once a repetition, a swap of the routing layer between treatments, and the loads

mod prices;

use serde::Serialize;

pub use prices::{Durations, Node, Prices, Sourced};

use crate::failure::{Failure, Result};
use crate::settings::{ConfigTree, Resolved, Settings};

/// An estimate by policy.
#[derive(Clone, Debug, Serialize)]
pub struct Estimate {
    /// The currency of all costs.
    pub currency: String,
    /// GPU nodes held at once.
    pub nodes: u32,
    /// Price of one node for an hour.
    pub node_hourly: f64,
    /// Minutes of load of each treatment's run.
    pub loads: Vec<Load>,
    /// Policies, cheapest last.
    pub policies: Vec<Policy>,
}

/// The load of one treatment.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Load {
    /// Treatment.
    pub treatment: String,
    /// Minutes from the first request to the last answer.
    pub minutes: f64,
}

/// A policy's figures for the whole campaign.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Policy {
    /// `never`, `after-run`, `after-load`, `shared`.
    pub policy: &'static str,
    /// Minutes with GPU nodes.
    pub pool_minutes: f64,
    /// Those of them in which no load runs.
    pub idle_minutes: f64,
    /// Minutes end to end.
    pub campaign_minutes: f64,
    /// Cost of the GPU nodes.
    pub gpu_cost: f64,
    /// Cost of everything.
    pub cost: f64,
}

/// Reads the prices that the settings choose.
///
/// # Errors
/// A usage failure when there is no such file, or it cannot be read.
pub fn prices(tree: &ConfigTree, resolved: &Resolved) -> Result<Prices> {
    let origin = resolved.origin("gke.prices").map(ToString::to_string).unwrap_or_default();
    let path = tree.find("price list", "prices", &resolved.settings.gke.prices, origin)?;
    Ok(tree.read(&path)?)
}

/// Estimates a campaign.
///
/// # Errors
/// A usage failure when the price list does not have the GPU nodes.
pub fn estimate(settings: &Settings, prices: &Prices) -> Result<Estimate> {
    let gpu = &settings.gke.gpu;
    let node = prices.nodes.iter().find(|node| node.machine_type == gpu.machine_type && node.spot == gpu.spot);
    let node = node.ok_or_else(|| {
        let spot = if gpu.spot { "Spot " } else { "" };
        Failure::usage(format!("the price list {} has no {spot}price of {}", settings.gke.prices, gpu.machine_type))
            .hint(format!("add it to config/prices/{}.yaml, with its source and date", settings.gke.prices))
    })?;
    let loads: Vec<Load> = settings
        .treatments
        .iter()
        .map(|treatment| Load { treatment: treatment.clone(), minutes: load_minutes(settings, prices, treatment) })
        .collect();
    let campaign = Campaign { settings, prices, node_hourly: node.hourly.value, loads: &loads };
    let policies = vec![campaign.never(), campaign.after_run(), campaign.after_load(), campaign.shared()];
    Ok(Estimate {
        currency: prices.currency.clone(),
        nodes: gpu.target_nodes,
        node_hourly: node.hourly.value,
        policies,
        loads,
    })
}

/// Minutes of a treatment's ladder, pauses between stages included.
fn load_minutes(settings: &Settings, prices: &Prices, treatment: &str) -> f64 {
    let workload = &settings.workload;
    let drain = prices.drain.get(treatment).or_else(|| prices.drain.get("other")).map_or(f64::INFINITY, |it| it.value);
    let limit = drain * f64::from(settings.cluster.replicas);
    let stages = workload.scaled_stages();
    let pauses = stages.len().saturating_sub(1) as f64 * workload.interval;
    let seconds = stages
        .iter()
        .map(|stage| stage.duration.max(stage.planned() as f64 / limit) + prices.durations.tail_seconds.value);
    (seconds.sum::<f64>() + pauses) / 60.0
}

struct Campaign<'a> {
    settings: &'a Settings,
    prices: &'a Prices,
    node_hourly: f64,
    loads: &'a [Load],
}

impl Campaign<'_> {
    fn runs(&self) -> f64 {
        self.loads.len() as f64 * self.repetitions()
    }

    fn repetitions(&self) -> f64 {
        f64::from(self.settings.repetitions)
    }

    fn load(&self) -> f64 {
        self.loads.iter().map(|load| load.minutes).sum::<f64>() * self.repetitions()
    }

    /// The policy's figures from its minutes with nodes and those without that are not beside others.
    fn policy(&self, policy: &'static str, pool: f64, without: f64) -> Policy {
        let campaign = pool + without;
        let gpu_cost = pool / 60.0 * self.node_hourly * f64::from(self.settings.gke.gpu.target_nodes);
        let hourly: f64 = self.prices.hourly.values().map(|price| price.value).sum();
        let per_run: f64 = self.prices.per_run.values().map(|price| price.value).sum();
        Policy {
            policy,
            pool_minutes: pool,
            idle_minutes: pool - self.load(),
            campaign_minutes: campaign,
            gpu_cost,
            cost: gpu_cost + campaign / 60.0 * hourly + self.runs() * per_run,
        }
    }

    fn never(&self) -> Policy {
        let it = &self.prices.durations;
        let a_run = it.startup_minutes.value + it.collection_minutes.value + it.other_minutes.value;
        self.policy("never", self.load() + self.runs() * a_run + it.release_minutes.value, 0.0)
    }

    fn after_run(&self) -> Policy {
        let it = &self.prices.durations;
        let a_run = it.startup_minutes.value + it.collection_minutes.value + it.release_minutes.value;
        self.policy("after-run", self.load() + self.runs() * a_run, self.runs() * it.other_minutes.value)
    }

    fn after_load(&self) -> Policy {
        let it = &self.prices.durations;
        let a_run = it.startup_minutes.value + it.release_minutes.value;
        let without = it.collection_minutes.value + it.other_minutes.value;
        self.policy("after-load", self.load() + self.runs() * a_run, self.runs() * without)
    }

    /// Collection goes on beside the next treatment's load; only the last one's comes after.
    fn shared(&self) -> Policy {
        let it = &self.prices.durations;
        let once = it.startup_minutes.value + it.release_minutes.value;
        let swaps = (self.runs() - self.repetitions()) * it.swap_minutes.value;
        let without = self.repetitions() * (it.collection_minutes.value + it.other_minutes.value);
        self.policy("shared", self.load() + self.repetitions() * once + swaps, without)
    }
}

impl Estimate {
    /// The estimate for people.
    pub fn text(&self) -> String {
        let mut lines = vec![format!(
            "{} GPU nodes at {} {} an hour each; load: {}",
            self.nodes,
            self.node_hourly,
            self.currency,
            self.loads
                .iter()
                .map(|load| format!("{} {:.0} min", load.treatment, load.minutes))
                .collect::<Vec<_>>()
                .join(", ")
        )];
        lines.push(format!(
            "{:12}{:>14}{:>16}{:>14}{:>12}",
            "policy", "GPU minutes", "without load", "end to end", self.currency
        ));
        for it in &self.policies {
            lines.push(format!(
                "{:12}{:>14.1}{:>16.1}{:>14.0}{:>12.0}",
                it.policy, it.pool_minutes, it.idle_minutes, it.campaign_minutes, it.cost
            ));
        }
        lines.join("\n") + "\n"
    }
}

#[cfg(test)]
mod tests;
