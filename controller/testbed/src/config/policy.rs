//! Routing policies: the picker's own `EndpointPickerConfig`, as a cluster treatment deploys it.
//!
//! Names, parameters and defaults are those of llm-d-router v0.9.0. A plugin or parameter that the testbed does not
//! know is refused: ignoring it would measure another policy than the one named.

mod parameters;

use std::path::Path;

use indexmap::IndexMap;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_yaml::Mapping;

pub use self::parameters::{
    ApproxPrefixCache, InflightLoad, MaxScorePicker, PrefixCacheAffinity, PrefixCacheScorer, TokenLoad, TtftSource,
};
use super::{Error, not_negative, positive, read_yaml};

const API_VERSIONS: [&str; 2] = ["llm-d.ai/v1alpha1", "inference.networking.x-k8s.io/v1alpha1"];

/// A routing policy that the testbed can carry out.
#[derive(Clone, Debug)]
pub struct Policy {
    /// The plugins, in the order of the file, with those that the picker would create by itself.
    pub plugins: Vec<Plugin>,
    /// The scheduling profile: filters, scorers and picker in order, as positions in `plugins`, with weights.
    pub profile: Vec<(usize, f64)>,
}

/// One named plugin.
#[derive(Clone, Debug, PartialEq)]
pub struct Plugin {
    /// The name that profiles refer to; the type where none is given.
    pub name: String,
    /// What it is, with its parameters.
    pub kind: Kind,
}

/// The plugin types that the testbed carries out, with their parameters.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// Remembers which server was sent which prompt prefix.
    ApproxPrefixCacheProducer(ApproxPrefixCache),
    /// Counts uncached prompt tokens in flight to each server.
    InflightLoadProducer(InflightLoad),
    /// Keeps only servers that hold the prefix, unless they are too far behind.
    PrefixCacheAffinityFilter(PrefixCacheAffinity),
    /// Scores by tokens in flight.
    TokenLoadScorer(TokenLoad),
    /// Scores by the length of the server's queue.
    QueueScorer,
    /// Scores by free KV cache.
    KvCacheUtilizationScorer,
    /// Scores by the matched part of the prompt.
    PrefixCacheScorer(PrefixCacheScorer),
    /// Takes the highest score, ties at random.
    MaxScorePicker(MaxScorePicker),
    /// Part of every picker and without influence on the choice here.
    Plumbing,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct NoParameters {}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[expect(dead_code, reason = "known names of parameters that have no influence here")]
struct MetricsSource {
    scheme: Option<String>,
    path: Option<String>,
    insecure_skip_verify: Option<bool>,
}

impl Kind {
    /// The names of all plugin types, for messages.
    pub const NAMES: [&str; 11] = [
        "approx-prefix-cache-producer",
        "inflight-load-producer",
        "prefix-cache-affinity-filter",
        "token-load-scorer",
        "queue-scorer",
        "kv-cache-utilization-scorer",
        "prefix-cache-scorer",
        "max-score-picker",
        "single-profile-handler",
        "metrics-data-source",
        "core-metrics-extractor",
    ];

    /// The plugin of this type with these parameters.
    ///
    /// # Errors
    /// Names the unknown type or parameter, or the impossible value.
    pub fn new(name: &str, parameters: Mapping) -> Result<Self, String> {
        let kind = match name {
            "approx-prefix-cache-producer" => Self::ApproxPrefixCacheProducer(typed(parameters)?),
            "inflight-load-producer" => Self::InflightLoadProducer(typed(parameters)?),
            "prefix-cache-affinity-filter" => Self::PrefixCacheAffinityFilter(typed(parameters)?),
            "token-load-scorer" => Self::TokenLoadScorer(typed(parameters)?),
            "queue-scorer" => typed::<NoParameters>(parameters).map(|_| Self::QueueScorer)?,
            "kv-cache-utilization-scorer" => {
                typed::<NoParameters>(parameters).map(|_| Self::KvCacheUtilizationScorer)?
            }
            "prefix-cache-scorer" => Self::PrefixCacheScorer(typed(parameters)?),
            "max-score-picker" => Self::MaxScorePicker(typed(parameters)?),
            "single-profile-handler" | "core-metrics-extractor" => {
                typed::<NoParameters>(parameters).map(|_| Self::Plumbing)?
            }
            "metrics-data-source" => typed::<MetricsSource>(parameters).map(|_| Self::Plumbing)?,
            _ => return Err(format!("unknown plugin type; the testbed knows {}", Self::NAMES.join(", "))),
        };
        kind.check()?;
        Ok(kind)
    }

    fn check(&self) -> Result<(), String> {
        match self {
            Self::ApproxPrefixCacheProducer(producer) if producer.lru_capacity_per_server == 0 => {
                Err("`lruCapacityPerServer` is 0: nothing could be remembered".into())
            }
            Self::PrefixCacheAffinityFilter(filter) => {
                if filter.affinity_threshold.is_nan() || filter.affinity_threshold > 1.0 {
                    return Err(format!("`affinityThreshold` is {}: it must be 1 or less", filter.affinity_threshold));
                }
                not_negative("explorationProbability", filter.exploration_probability)?;
                if filter.exploration_probability > 1.0 {
                    return Err(format!("`explorationProbability` is {}: above 1", filter.exploration_probability));
                }
                not_negative("maxTTFTPenaltyMs", filter.max_ttft_penalty_ms)?;
                if filter.max_ttft_penalty_ms > 0.0 {
                    positive("peakPrefillThroughput", filter.peak_prefill_throughput)?;
                }
                Ok(())
            }
            Self::TokenLoadScorer(scorer) if scorer.queue_threshold_tokens == 0 => {
                Err("`queueThresholdTokens` is 0: it must be above 0".into())
            }
            Self::MaxScorePicker(picker) if picker.max_num_of_endpoints != 1 => {
                Err(format!("`maxNumOfEndpoints` is {}: the testbed's proxy uses one", picker.max_num_of_endpoints))
            }
            _ => Ok(()),
        }
    }

    /// The type's own producers' names it refers to, with the type that each must have.
    fn references(&self) -> [(Option<&str>, &'static str); 2] {
        const PREFIX: &str = "approx-prefix-cache-producer";
        const LOAD: &str = "inflight-load-producer";
        match self {
            Self::InflightLoadProducer(p) => [(p.prefix_match_info_producer_name.as_deref(), PREFIX), (None, LOAD)],
            Self::PrefixCacheAffinityFilter(p) => [
                (p.prefix_match_info_producer_name.as_deref(), PREFIX),
                (p.inflight_load_producer_name.as_deref(), LOAD),
            ],
            Self::TokenLoadScorer(p) => [(None, PREFIX), (p.inflight_load_producer_name.as_deref(), LOAD)],
            Self::PrefixCacheScorer(p) => [(p.prefix_match_info_producer_name.as_deref(), PREFIX), (None, LOAD)],
            _ => [(None, PREFIX), (None, LOAD)],
        }
    }
}

/// Turns a plugin's parameters into their type; unknown ones are an error that lists the known ones.
fn typed<T: DeserializeOwned>(parameters: Mapping) -> Result<T, String> {
    serde_yaml::from_value(parameters.into()).map_err(|error| error.to_string())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Document {
    api_version: String,
    kind: String,
    plugins: Vec<PluginEntry>,
    #[serde(default)]
    scheduling_profiles: Vec<Profile>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PluginEntry {
    name: Option<String>,
    r#type: String,
    #[serde(default)]
    parameters: Mapping,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Profile {
    #[expect(dead_code, reason = "there is one profile: its name is free")]
    name: String,
    plugins: Vec<ProfilePlugin>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct ProfilePlugin {
    plugin_ref: String,
    weight: Option<f64>,
}

impl Policy {
    /// Reads an `EndpointPickerConfig`; `defaults` holds parameters by plugin type that apply where the file says
    /// nothing (a hardware model's `plugin_defaults`).
    ///
    /// # Errors
    /// When it cannot be read, is of another kind, or holds a plugin, parameter or reference that is not known.
    pub fn read(path: &Path, defaults: &IndexMap<String, Mapping>) -> Result<Self, Error> {
        let document = read_yaml(path)?;
        Self::new(document, defaults).map_err(|message| Error::Invalid { path: path.to_owned(), message })
    }

    fn new(document: Document, defaults: &IndexMap<String, Mapping>) -> Result<Self, String> {
        if !API_VERSIONS.contains(&document.api_version.as_str()) || document.kind != "EndpointPickerConfig" {
            return Err(format!(
                "this is `{}` `{}`: a routing policy is an EndpointPickerConfig of {}",
                document.api_version, document.kind, API_VERSIONS[0]
            ));
        }
        let mut plugins = Vec::new();
        for entry in document.plugins {
            let name = entry.name.unwrap_or_else(|| entry.r#type.clone());
            if plugins.iter().any(|plugin: &Plugin| plugin.name == name) {
                return Err(format!("plugin `{name}` is declared twice"));
            }
            let mut parameters = defaults.get(&entry.r#type).cloned().unwrap_or_default();
            parameters.extend(entry.parameters);
            let kind = Kind::new(&entry.r#type, parameters)
                .map_err(|message| format!("plugin `{name}` (type `{}`): {message}", entry.r#type))?;
            plugins.push(Plugin { name, kind });
        }
        check_references(&plugins)?;
        let profile = match &document.scheduling_profiles[..] {
            [] => (0..plugins.len()).map(|plugin| (plugin, 1.0)).collect(),
            [profile] => resolve(profile, &plugins)?,
            _ => return Err("several `schedulingProfiles`: the testbed carries out policies with one".into()),
        };
        Ok(Self { plugins, profile })
    }

    /// The producer of prefix matches with its parameters: declared, or created because something needs it.
    pub fn prefix_producer(&self) -> Option<ApproxPrefixCache> {
        let needed = |kind: &Kind| matches!(kind, Kind::PrefixCacheAffinityFilter(_) | Kind::PrefixCacheScorer(_));
        let declared = self.plugins.iter().find_map(|plugin| match &plugin.kind {
            Kind::ApproxPrefixCacheProducer(producer) => Some(producer.clone()),
            _ => None,
        });
        declared.or_else(|| self.plugins.iter().any(|plugin| needed(&plugin.kind)).then(ApproxPrefixCache::default))
    }

    /// The producer of tokens in flight with its parameters: declared, or created because something needs it.
    pub fn load_producer(&self) -> Option<InflightLoad> {
        let needed = |kind: &Kind| match kind {
            Kind::TokenLoadScorer(_) => true,
            Kind::PrefixCacheAffinityFilter(filter) => filter.max_ttft_penalty_ms > 0.0,
            _ => false,
        };
        let declared = self.plugins.iter().find_map(|plugin| match &plugin.kind {
            Kind::InflightLoadProducer(producer) => Some(producer.clone()),
            _ => None,
        });
        declared.or_else(|| self.plugins.iter().any(|plugin| needed(&plugin.kind)).then(InflightLoad::default))
    }
}

fn check_references(plugins: &[Plugin]) -> Result<(), String> {
    for plugin in plugins {
        for (reference, expected) in plugin.kind.references() {
            let Some(reference) = reference.filter(|reference| !reference.is_empty()) else { continue };
            let found = plugins.iter().find(|other| other.name == reference);
            let right = found.is_some_and(|other| match other.kind {
                Kind::ApproxPrefixCacheProducer(_) => expected == "approx-prefix-cache-producer",
                Kind::InflightLoadProducer(_) => expected == "inflight-load-producer",
                _ => false,
            });
            if !right {
                return Err(format!("plugin `{}` refers to `{reference}`, which is no {expected} here", plugin.name));
            }
        }
    }
    Ok(())
}

fn resolve(profile: &Profile, plugins: &[Plugin]) -> Result<Vec<(usize, f64)>, String> {
    let names = || plugins.iter().map(|plugin| plugin.name.as_str()).collect::<Vec<_>>().join(", ");
    let find = |entry: &ProfilePlugin| {
        let position = plugins.iter().position(|plugin| plugin.name == entry.plugin_ref);
        let position = position.ok_or_else(|| {
            format!("the profile refers to `{}`, which is not declared; declared are {}", entry.plugin_ref, names())
        })?;
        let weight = entry.weight.unwrap_or(1.0);
        not_negative("weight", weight).map_err(|message| format!("`{}`: {message}", entry.plugin_ref))?;
        Ok((position, weight))
    };
    profile.plugins.iter().map(find).collect()
}
