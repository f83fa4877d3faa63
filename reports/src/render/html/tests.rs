use super::*;
use crate::render::fixture::{self, compare};
use crate::render::page::Place;

/// The page of these treatments against `service`.
pub(super) fn html(campaign: &crate::campaign::Campaign, candidates: &[&str]) -> String {
    let comparisons: Vec<_> = candidates.iter().map(|candidate| compare(campaign, "service", candidate)).collect();
    let report = Report::new(campaign, &comparisons, &[]);
    let charts = report.charts();
    let place = Place { folder: "/evidence/report".into(), link_evidence: false };
    page(&report, &report.campaign_page(&charts, &place), &charts).unwrap()
}
#[test]
fn the_largest_report_stays_below_a_megabyte() {
    let campaign = fixture::large();
    let page = html(&campaign, &["agentgateway-standalone", "agentgateway-gateway", "envoy-standalone"]);
    assert!(page.len() < 1_000_000, "{} bytes", page.len());
    assert_eq!(page, html(&campaign, &["agentgateway-standalone", "agentgateway-gateway", "envoy-standalone"]));
}

#[test]
fn the_page_refers_to_nothing_outside_itself() {
    let page = html(&fixture::published(), &["agentgateway-standalone"]);
    for reference in [" src=", "url(", "@import", " href="] {
        assert!(!page.contains(reference), "{reference} refers to something outside");
    }
    let addresses: Vec<&str> = page.match_indices("http").map(|(at, _)| &page[at..(at + 40).min(page.len())]).collect();
    let foreign =
        |address: &&&str| !address.starts_with("http://www.w3.org/2000/svg") && !address.starts_with("http-equiv");
    assert_eq!(addresses.iter().filter(foreign).count(), 0, "{addresses:?}");
}

#[test]
fn its_policy_allows_exactly_its_own_script_and_style() {
    let page = html(&fixture::published(), &["agentgateway-standalone"]);
    let between = |open: &str, close: &str| {
        let start = page.find(open).unwrap() + open.len();
        page[start..start + page[start..].find(close).unwrap()].to_owned()
    };
    assert!(page.contains(&format!("script-src '{}'", integrity(&between("<script>", "</script>")))));
    assert!(page.contains(&format!("style-src '{}'", integrity(&between("<style>", "</style>")))));
    assert!(!page.contains(" style=\""), "an inline style would be blocked");
}

#[test]
fn hostile_names_neither_end_the_script_nor_become_markup() {
    let hostile = "</script><script>alert(1)</script><!-- \u{2028} \" onload='x'";
    let ladder = |ttft| vec![fixture::stage(0, 4.0, ttft)];
    let treatments =
        vec![fixture::treatment("service", &[(1, ladder(1.0))]), fixture::treatment(hostile, &[(1, ladder(0.1))])];
    let page = html(&fixture::campaign("hostile-20261130", treatments), &[hostile]);
    assert_eq!(page.matches("<script").count(), 2, "the data and the script");
    assert_eq!(page.matches("</script").count(), 2);
    let (markup, data) = page.split_once("id=\"data\">").unwrap();
    assert!(!markup.contains("<!--") && !markup.contains("onload='x'"));
    assert!(!data.contains("<!--") && data.contains("\\u003c/script>"));
}

#[test]
fn base64_follows_the_rfc() {
    let pairs = [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")];
    for (plain, encoded) in pairs {
        assert_eq!(base64(plain.as_bytes()), encoded);
    }
}
