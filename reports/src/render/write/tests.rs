use super::*;
use crate::campaign::Campaign;
use crate::compare::Options;
use crate::render::{Content, fixture};

fn plan(output: &Path, formats: &[Format]) -> Plan {
    Plan { formats: formats.to_vec(), output: output.into(), link_evidence: true }
}

fn content(campaign: &Campaign) -> Content {
    Content::of(campaign, &[], &Options::default()).unwrap()
}

fn names(written: &Written) -> Vec<String> {
    let relative = |file: &PathBuf| file.strip_prefix(&written.folder).unwrap().to_str().unwrap().to_owned();
    written.files.iter().map(relative).collect()
}

fn bytes(written: &Written) -> Vec<Vec<u8>> {
    written.files.iter().map(|file| fs_err::read(file).unwrap()).collect()
}

#[test]
fn a_report_has_the_documented_layout_and_the_same_bytes_every_time() {
    let folder = tempfile::tempdir().unwrap();
    let campaign = fixture::published();
    let content = content(&campaign);
    let plan = plan(&folder.path().join("report"), &Format::DEFAULT);
    let first = write(&content.report(&campaign), &plan).unwrap();
    insta::assert_snapshot!(names(&first).join("\n"));
    let before = bytes(&first);
    let second = write(&content.report(&campaign), &plan).unwrap();
    assert_eq!(bytes(&second), before);
    let left: Vec<_> = fs_err::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["report"], "nothing is left beside it");
}

#[test]
fn every_link_and_image_of_every_page_resolves() {
    let folder = tempfile::tempdir().unwrap();
    let mut campaign = fixture::published();
    campaign.dir = folder.path().into();
    for treatment in &mut campaign.treatments {
        treatment.repetitions[0].dir = folder.path().join(format!("runs/{}/repetition-1", treatment.name));
    }
    fs_err::create_dir_all(&campaign.treatments[0].repetitions[0].dir).unwrap();
    let content = content(&campaign);
    let written = write(&content.report(&campaign), &plan(&folder.path().join("report"), &Format::DEFAULT)).unwrap();
    let mut links = 0;
    for page in written.files.iter().filter(|file| file.ends_with(README)) {
        for target in
            fs_err::read_to_string(page).unwrap().split("](").skip(1).map(|rest| rest.split(')').next().unwrap())
        {
            assert!(page.parent().unwrap().join(target).exists(), "{}: {target}", page.display());
            links += 1;
        }
    }
    assert!(links > 20, "{links}");
}

#[test]
fn a_folder_with_anything_else_in_it_is_not_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("mine");
    fs_err::create_dir_all(&output).unwrap();
    fs_err::write(output.join("thesis.tex"), "years of work").unwrap();
    let campaign = fixture::published();
    let content = content(&campaign);
    let refused = write(&content.report(&campaign), &plan(&output, &Format::DEFAULT)).unwrap_err();
    assert!(refused.to_string().ends_with("holds \"thesis.tex\", which is no part of a report"));
    assert!(output.join("thesis.tex").exists());
}

#[test]
fn with_png_alone_pages_show_png_and_the_svg_files_go() {
    let folder = tempfile::tempdir().unwrap();
    let campaign = fixture::published();
    let content = content(&campaign);
    let staged =
        stage(&content.report(&campaign), &plan(&folder.path().join("report"), &[Format::Markdown, Format::Png]))
            .unwrap();
    assert!(!staged.charts().is_empty());
    for chart in staged.charts() {
        fs_err::write(chart.with_extension("png"), "drawn").unwrap();
    }
    let written = staged.place().unwrap();
    assert!(names(&written).iter().all(|name| !name.ends_with(".svg")));
    assert!(names(&written).contains(&"charts/throughput.png".to_owned()));
    let page = fs_err::read_to_string(written.folder.join(README)).unwrap();
    assert!(page.contains("(charts/throughput.png)") && !page.contains(".svg"));
}

#[test]
fn a_report_that_is_not_placed_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let campaign = fixture::published();
    let content = content(&campaign);
    drop(stage(&content.report(&campaign), &plan(&folder.path().join("report"), &Format::DEFAULT)).unwrap());
    assert_eq!(fs_err::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn one_treatment_has_a_table_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let stages = vec![fixture::stage(0, 4.0, 0.2), fixture::stage(1, 8.0, 0.4)];
    let campaign = fixture::campaign("alone", vec![fixture::treatment("bare", &[(1, stages)])]);
    let content = content(&campaign);
    let plan = plan(&folder.path().join("report"), &[Format::Markdown, Format::Csv]);
    let written = write(&content.report(&campaign), &plan).unwrap();
    let found = names(&written);
    assert!(found.contains(&METRICS.to_owned()) && found.contains(&README.to_owned()), "{found:?}");
    assert!(fs_err::read_to_string(written.folder.join(README)).unwrap().contains("[metrics.csv](metrics.csv)"));
}
