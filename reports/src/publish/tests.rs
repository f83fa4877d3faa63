use std::fs;

use super::*;
use crate::campaign::{FailedRepetition, Repetition, Treatment};
use crate::model::{
    Component, Distribution, Failure, Harness, Latency, Load, Metric, Requests, Stack, Stage, Throughput,
};

fn stage(number: u32, rate: f64, failed: u64) -> Stage {
    let latency = |p50: f64| Some(Distribution { p50: Some(p50), p90: Some(1.5 * p50), ..Distribution::default() });
    Stage {
        number,
        load: Load { requested_rate: Some(rate), achieved_rate: Some(rate / 3.0), ..Load::default() },
        requests: Requests {
            total: 40,
            failures: Some(failed),
            failures_by_label: (failed > 0)
                .then(|| Failure { label: "503 - <b>".into(), count: failed })
                .into_iter()
                .collect(),
            ..Requests::default()
        },
        latency: Latency { ttft: latency(0.1 / rate), request: latency(2.0), ..Latency::default() },
        throughput: Throughput { output_tokens: Some(16.0 * rate), requests: Some(rate), ..Throughput::default() },
        harness: Harness { tool: "inference-perf".into(), version: Some("0.7.0".into()) },
        ..Stage::default()
    }
}

fn treatment(name: &str) -> Treatment {
    let repetition = |number| Repetition {
        number,
        dir: PathBuf::from("/home/ada/results"),
        stages: vec![stage(0, 3.0, 0), stage(1, 7.0, u64::from(number))],
    };
    let engine = Component { label: "vllm".into(), tool: Stack::SIMULATED_TOOL.into(), ..Component::default() };
    Treatment {
        name: name.into(),
        display_name: name.to_uppercase(),
        repetitions: vec![repetition(1), repetition(2)],
        failed: vec![FailedRepetition { number: 3, reason: Some("the server died".into()) }],
        stack: Stack { components: vec![engine] },
    }
}

fn campaign(names: &[&str]) -> Campaign {
    let mut manifest = Manifest::new("smoke-1", serde_yaml::from_str("model: m\nreplicas: 4").unwrap());
    manifest.provenance = Some(serde_yaml::from_str("started: 2026-11-30T22:00:00Z").unwrap());
    for name in names {
        for repetition in 1..=3 {
            let entry = manifest.repetition_mut(name, repetition);
            if repetition == 3 {
                entry.set("status", "failed");
                entry.set("reason", "the server died");
            }
        }
        manifest.treatments[*name].details.insert("display_name".into(), name.to_uppercase().into());
    }
    let treatments = names.iter().map(|name| treatment(name)).collect();
    Campaign { dir: PathBuf::from("/home/ada/results"), manifest, treatments, warnings: Vec::new() }
}

/// Documents that show everything that real ones show, in few words.
fn render(campaign: &Campaign, asked: &Asked, folder: &Path) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let mut text = format!("# {}\n", campaign.manifest.campaign_id);
    text.push_str(&format!("asked: {:?} {:?}\n", asked.comparisons, asked.slo.as_ref().map(ToString::to_string)));
    text.push_str(if campaign.is_simulated() { "simulated\n" } else { "measured\n" });
    if let Some(evidence) = campaign.manifest.provenance.as_ref().and_then(|facts| facts.get("evidence")) {
        text.push_str(&format!("evidence: {evidence:?}\n"));
    }
    for treatment in &campaign.treatments {
        text.push_str(&format!("{} failed: {:?}\n", treatment.display_name, treatment.failed));
        for repetition in &treatment.repetitions {
            for stage in &repetition.stages {
                let numbers: Vec<_> = Metric::all().into_iter().filter_map(|metric| metric.of(stage)).collect();
                text.push_str(&format!("{numbers:?} {:?} {:?}\n", stage.requests.failures_by_label, stage.harness));
            }
        }
    }
    fs::write(folder.join("README.md"), text)?;
    fs::create_dir(folder.join("charts"))?;
    fs::write(folder.join("charts/ttft.svg"), "<svg/>")?;
    Ok(())
}

const USUAL: Asked = Asked { comparisons: Vec::new(), slo: None };
const PLAIN: Publication<'_> = Publication { profile: "smoke", links: &[], private: &[], local: &[], asked: &USUAL };

fn names(folder: &Path) -> Vec<String> {
    list(folder).unwrap().into_iter().map(|(name, _)| name.display().to_string()).collect()
}

#[test]
fn a_published_report_can_be_made_again_from_what_lies_beside_it() {
    let root = tempfile::tempdir().unwrap();
    let links = ["https://storage.example.org/smoke-1.tar".to_owned()];
    let asked = Asked {
        comparisons: vec![("service".into(), "standalone".into())],
        slo: Some("ttft_p90=2s,itl_p50=50ms".parse().unwrap()),
    };
    let publication = Publication { links: &links, asked: &asked, ..PLAIN };
    let folder = publish(&campaign(&["service", "standalone"]), &publication, root.path(), &render).unwrap();
    assert_eq!(folder, root.path().join("smoke/smoke-1"));
    assert_eq!(
        names(&folder),
        ["README.md", "campaign-manifest.yaml", "charts/ttft.svg", "metrics.csv", "provenance.yaml"]
    );
    assert_eq!(check(root.path(), &render).unwrap(), (1, Vec::new()));
    let readme = fs::read_to_string(folder.join("README.md")).unwrap();
    for shown in [
        "(\"service\", \"standalone\")",
        "simulated",
        "storage.example.org",
        "the server died",
        "503 - <b>",
        "0.7.0",
        "STANDALONE",
    ] {
        assert!(readme.contains(shown), "{shown} is lost in\n{readme}");
    }
    assert!(!readme.contains("/home/ada"));
    insta::assert_snapshot!("provenance", fs::read_to_string(folder.join(PROVENANCE)).unwrap());
    assert_eq!(fs::read_dir(root.path().join("smoke")).unwrap().count(), 1, "something unfinished was left behind");
}

#[test]
fn numbers_of_a_published_report_are_those_of_the_campaign_to_the_last_digit() {
    let root = tempfile::tempdir().unwrap();
    let campaign = campaign(&["service"]);
    let folder = publish(&campaign, &PLAIN, root.path(), &render).unwrap();
    let (again, _) = read(&folder).unwrap();
    for (ours, theirs) in campaign.treatments[0].repetitions.iter().zip(&again.treatments[0].repetitions) {
        for (ours, theirs) in ours.stages.iter().zip(&theirs.stages) {
            assert_eq!(ours, theirs);
        }
    }
    assert_eq!(campaign.treatments[0].stack, again.treatments[0].stack);
    assert_eq!(campaign.treatments[0].failed, again.treatments[0].failed);
}

#[test]
fn documents_that_were_changed_removed_or_added_are_named() {
    let root = tempfile::tempdir().unwrap();
    let folder = publish(&campaign(&["service"]), &PLAIN, root.path(), &render).unwrap();
    let readme = fs::read_to_string(folder.join("README.md")).unwrap();
    fs::write(folder.join("README.md"), readme.replacen("simulated", "measured", 1)).unwrap();
    fs::remove_file(folder.join("charts/ttft.svg")).unwrap();
    fs::write(folder.join("notes.txt"), "from /home/ada/notes").unwrap();
    fs::write(folder.join("charts/ttft.png"), "picture").unwrap();
    let (reports, problems) = check(root.path(), &render).unwrap();
    let said: Vec<String> =
        problems.iter().map(|problem| problem.to_string().replace(&folder.display().to_string(), "")).collect();
    assert_eq!(reports, 1);
    assert_eq!(
        said,
        [
            "/README.md:3: differs from what its numbers give",
            "/charts/ttft.svg: is missing",
            "/notes.txt: is no part of the report",
            "/notes.txt:1: a path on a machine",
        ]
    );
}

#[test]
fn a_changed_number_makes_its_documents_differ() {
    let root = tempfile::tempdir().unwrap();
    let folder = publish(&campaign(&["service"]), &PLAIN, root.path(), &render).unwrap();
    let metrics = fs::read_to_string(folder.join(METRICS)).unwrap();
    assert!(metrics.contains(",112,"));
    fs::write(folder.join(METRICS), metrics.replacen(",112,", ",211,", 1)).unwrap();
    let (_, problems) = check(root.path(), &render).unwrap();
    assert!(
        matches!(problems.as_slice(), [Problem::Differs { path, .. }] if path.ends_with("README.md")),
        "{problems:?}"
    );
    fs::write(folder.join(METRICS), "not,a,table\n").unwrap();
    let (_, problems) = check(root.path(), &render).unwrap();
    assert!(matches!(problems.as_slice(), [Problem::Unusable { .. }]), "{problems:?}");
}

#[test]
fn secrets_and_private_names_stop_a_publication_and_leave_nothing() {
    let root = tempfile::tempdir().unwrap();
    let mut leaky = campaign(&["service"]);
    leaky.manifest.identity.insert("api_key".into(), "0123456789abcdefghij".into());
    let refusal = publish(&leaky, &PLAIN, root.path(), &render).unwrap_err().to_string();
    assert!(refusal.contains("campaign-manifest.yaml:7: a value of a key that holds credentials"), "{refusal}");
    assert!(!refusal.contains("0123456789abcdefghij"));
    let mut here = campaign(&["service"]);
    here.manifest.provenance.as_mut().unwrap().insert("command".into(), "xtask --results-dir /home/ada/r".into());
    let refusal = publish(&here, &PLAIN, root.path(), &render).unwrap_err().to_string();
    assert!(refusal.contains("a path on a machine"), "{refusal}");
    let private = ["smoke-1".to_owned()];
    let publication = Publication { private: &private, ..PLAIN };
    let refusal = publish(&campaign(&["service"]), &publication, root.path(), &render).unwrap_err().to_string();
    assert!(refusal.contains("README.md:1: the name or a folder of this machine"), "{refusal}");
    assert_eq!(fs::read_dir(root.path().join("smoke")).unwrap().count(), 0);
}

#[test]
fn names_that_lead_out_of_the_folder_and_links_that_do_not_last_are_refused() {
    let root = tempfile::tempdir().unwrap();
    for profile in ["../up", "", "a/b", "."] {
        let publication = Publication { profile, ..PLAIN };
        assert!(matches!(
            publish(&campaign(&["service"]), &publication, root.path(), &render),
            Err(Error::Name { .. })
        ));
    }
    let mut campaign = campaign(&["service"]);
    let links = ["http://localhost/x".to_owned()];
    let publication = Publication { links: &links, ..PLAIN };
    assert!(matches!(publish(&campaign, &publication, root.path(), &render), Err(Error::Link(_))));
    campaign.manifest.campaign_id = "..".into();
    assert!(matches!(publish(&campaign, &PLAIN, root.path(), &render), Err(Error::Name { .. })));
    assert_eq!(fs::read_dir(root.path()).unwrap().count(), 0);
}

#[test]
fn a_second_publication_replaces_the_first_as_a_whole() {
    let root = tempfile::tempdir().unwrap();
    let folder = publish(&campaign(&["service"]), &PLAIN, root.path(), &render).unwrap();
    fs::write(folder.join("old.md"), "old").unwrap();
    publish(&campaign(&["service"]), &PLAIN, root.path(), &render).unwrap();
    assert!(!folder.join("old.md").exists());
    let failing: &Render<'_> = &|_, _, _| Err("no ink".into());
    let error = publish(&campaign(&["service"]), &PLAIN, root.path(), failing).unwrap_err();
    assert_eq!(error.to_string(), "documents cannot be made: no ink");
    assert!(folder.join("README.md").exists());
}

#[test]
fn a_document_does_not_take_the_place_of_a_source() {
    let root = tempfile::tempdir().unwrap();
    let other: &Render<'_> = &|_, _, folder| Ok(fs::write(folder.join(METRICS), "other")?);
    assert!(matches!(publish(&campaign(&["service"]), &PLAIN, root.path(), other), Err(Error::Collision(_))));
}

#[test]
fn a_campaign_without_a_complete_repetition_is_not_published() {
    let root = tempfile::tempdir().unwrap();
    let mut empty = campaign(&["service"]);
    empty.treatments[0].repetitions.clear();
    assert!(matches!(publish(&empty, &PLAIN, root.path(), &render), Err(Error::NothingMeasured(_))));
}
