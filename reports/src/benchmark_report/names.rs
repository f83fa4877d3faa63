//! File names of stage documents.

use std::fmt;

/// A version of the format that is understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Version {
    /// `0.2`
    V02,
    /// `0.2.1`
    V021,
}

impl Version {
    /// The version of that text.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "0.2" => Some(Self::V02),
            "0.2.1" => Some(Self::V021),
            _ => None,
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::V02 => "0.2",
            Self::V021 => "0.2.1",
        })
    }
}

/// The name under which a treatment's stage is published.
pub fn file_name(treatment: &str, stage: u32) -> String {
    format!("benchmark_report_v0.2,_{treatment}_stage_{stage}_lifecycle_metrics.json.yaml")
}

/// Version and stage of a document's name, with (`benchmark_report_v0.2,_<treatment>_stage_…`) or without its treatment
/// (as llm-d-benchmark writes it). `None` for any other file.
pub fn parse_file_name(name: &str) -> Option<(Version, u32)> {
    let rest = name.strip_prefix("benchmark_report_v")?.strip_suffix("_lifecycle_metrics.json.yaml")?;
    let (version, rest) = rest.split_once(",_")?;
    let (before, stage) = rest.rsplit_once("stage_")?;
    // `<treatment>_` or nothing; `xstage_1` is no stage. A LoRA adapter's stage is part of a stage, not one.
    if !(before.is_empty() || before.ends_with('_')) || before.starts_with("adapter_") {
        return None;
    }
    let number: u32 = stage.parse().ok()?;
    (number.to_string() == stage).then_some((Version::parse(version)?, number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        let name = file_name("agentgateway-standalone", 10);
        assert_eq!(name, "benchmark_report_v0.2,_agentgateway-standalone_stage_10_lifecycle_metrics.json.yaml");
        assert_eq!(parse_file_name(&name), Some((Version::V02, 10)));
        let upstream = "benchmark_report_v0.2.1,_stage_3_lifecycle_metrics.json.yaml";
        assert_eq!(parse_file_name(upstream), Some((Version::V021, 3)));
        assert_eq!(parse_file_name(&file_name("stage_7", 1)), Some((Version::V02, 1)));
    }

    #[test]
    fn other_files_are_no_stages() {
        for name in [
            "benchmark_report_v0.1,_stage_3_lifecycle_metrics.json.yaml",
            "benchmark_report_v0.2,_summary_lifecycle_metrics.json.yaml",
            "benchmark_report_v0.2,_stage_03_lifecycle_metrics.json.yaml",
            "benchmark_report_v0.2,_stage_3_lifecycle_metrics.json.yaml.tmp",
            "benchmark_report_v0.2,_adapter_a_stage_3_lifecycle_metrics.json.yaml",
            "stage_3_lifecycle_metrics.json",
        ] {
            assert_eq!(parse_file_name(name), None, "{name}");
        }
    }
}
