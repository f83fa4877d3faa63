//! Bare result folders of inference-perf as a campaign: one treatment a folder, one repetition each.

use std::path::PathBuf;

use super::{Campaign, Error, Repetition, Treatment};
use crate::manifest::{Manifest, check_name};
use crate::model::{Prefix, Sequence, Stack, Workload};
use crate::native::{Config, Results};

/// A campaign of named result folders, in their order. Where a name comes twice, its folders are repetitions.
pub fn from_native(folders: &[(String, PathBuf)]) -> Result<Campaign, Error> {
    let mut campaign = Campaign {
        dir: folders.first().map(|(_, dir)| dir.clone()).unwrap_or_default(),
        manifest: Manifest::new("bare-results", serde_yaml::Mapping::new()),
        treatments: Vec::new(),
        warnings: Vec::new(),
    };
    for (name, dir) in folders {
        check_name(name).map_err(|what| Error::Layout { path: name.into(), what: what.into() })?;
        let results = Results::read(dir)?;
        let workload = results.config.as_ref().map(workload).unwrap_or_default();
        let mut stages: Vec<_> = results.stages.into_iter().map(|file| file.stage).collect();
        for stage in &mut stages {
            stage.workload = workload.clone();
        }
        let treatment = match campaign.treatments.iter_mut().find(|treatment| treatment.name == *name) {
            Some(treatment) => treatment,
            None => {
                campaign.treatments.push(Treatment {
                    name: name.clone(),
                    display_name: name.clone(),
                    repetitions: Vec::new(),
                    failed: Vec::new(),
                    stack: Stack::default(),
                });
                campaign.treatments.last_mut().expect("one was pushed")
            }
        };
        let number = treatment.repetitions.len() as u32 + 1;
        campaign.manifest.repetition_mut(name, number);
        treatment.add(super::repetition::Read {
            repetition: Repetition { number, dir: dir.clone(), stages },
            stack: Stack::default(),
        })?;
    }
    Ok(campaign)
}

fn workload(config: &Config) -> Workload {
    let data = config.data();
    let sequence = |(distribution, value)| Sequence { distribution, value };
    Workload {
        cfg_id: None,
        source: None,
        input: data.input.map(sequence),
        output: data.output.map(sequence),
        prefix: data.prefix.map(|tokens| Prefix {
            tokens: Some(tokens as f64),
            groups: data.groups,
            prompts_per_group: data.prompts_per_group,
        }),
    }
}
