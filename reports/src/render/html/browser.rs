//! The page in a real browser: what its script draws, and how it answers to the reader.

mod devtools;

use std::io::Write;

use devtools::Browser;
use serde_json::json;

use super::tests::html;
use crate::render::fixture;

const ROUTED: [&str; 2] = ["agentgateway-standalone", "agentgateway-gateway"];

/// Opens `page` in a browser and hands it to `check`; without a browser, says so past the test runner's capture.
fn in_browser(page: &str, check: impl FnOnce(&mut Browser)) {
    let Some(program) = devtools::find() else {
        writeln!(std::io::stderr(), "skipped: none of {:?} is on PATH, so the page was not opened", devtools::NAMES)
            .unwrap();
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("report.html");
    fs_err::write(&file, page).unwrap();
    let mut browser = Browser::open(&program, &file, &folder.path().join("profile"));
    check(&mut browser);
    assert_eq!(browser.complaints(), Vec::<String>::new(), "the page made the browser complain");
}

#[test]
fn the_reader_hides_treatments_chooses_percentile_and_axis_and_reads_values_by_keyboard() {
    in_browser(
        &html(&fixture::large(), &["agentgateway-standalone", "agentgateway-gateway", "envoy-standalone"]),
        |page| {
            assert_eq!(page.eval("document.documentElement.dataset.ready"), json!("7"));
            let lines = "document.querySelectorAll('#figure-ttft-p50 path.line').length";
            assert_eq!(page.eval(lines), json!(4));
            page.eval("document.querySelector('#controls input[value=\"0\"]').click()");
            assert_eq!(page.eval(lines), json!(3), "the baseline is hidden");

            let axis = "[...document.querySelectorAll('#figure-ttft-p50 text')].map(t => t.textContent).find(t => t.startsWith('TTFT'))";
            let choose = |name: &str, value: &str| {
                format!(
                    "(() => {{ const s = document.querySelector('select[name={name}]'); s.value = '{value}'; \
                 s.dispatchEvent(new Event('change')); }})()"
                )
            };
            page.eval(&choose("statistic", "p99"));
            page.eval(&choose("scale", "log"));
            assert_eq!(page.eval(axis), json!("TTFT p99 (s), log scale"));
            page.eval(&choose("scale", "linear"));
            assert_eq!(page.eval(axis), json!("TTFT p99 (s)"));

            page.eval("document.querySelector('#figure-throughput .chart').focus()");
            page.press("ArrowRight");
            page.press("ArrowRight");
            let said = page.eval("document.querySelector('#figure-throughput .unseen').textContent");
            let said = said.as_str().unwrap();
            assert!(said.starts_with("6.5 requests/s. agentgateway-standalone: "), "{said}");
            assert_eq!(page.eval("document.querySelector('#figure-throughput .tip').hidden"), json!(false));
            page.press("Escape");
            assert_eq!(page.eval("document.querySelector('#figure-throughput .tip').hidden"), json!(true));
        },
    );
}

#[test]
fn values_appear_under_the_pointer() {
    in_browser(&html(&fixture::published(), &ROUTED), |page| {
        page.point_at("#figure-throughput .chart svg", 0.5);
        let tip = page.eval("document.querySelector('#figure-throughput .tip').innerText");
        let tip = tip.as_str().unwrap();
        assert!(tip.contains("requests/s") && tip.contains("service") && tip.contains("tokens/s"), "{tip}");
    });
}

#[test]
fn a_page_of_one_stage_draws_and_reads_its_one_value() {
    let ladder = |ttft| vec![fixture::stage(0, 8.0, ttft)];
    let treatments =
        vec![fixture::treatment("service", &[(1, ladder(1.0))]), fixture::treatment("routed", &[(1, ladder(0.1))])];
    in_browser(&html(&fixture::campaign("one-20261130", treatments), &["routed"]), |page| {
        page.eval("document.querySelector('#figure-ttft-p50 .chart').focus()");
        page.press("End");
        assert_eq!(
            page.eval("document.querySelector('#figure-ttft-p50 .unseen').textContent"),
            json!("8 requests/s. service: 1.00 s. routed: 0.100 s.")
        );
    });
}

#[test]
fn a_stage_in_which_every_request_failed_leaves_a_gap() {
    let stages = vec![fixture::stage(0, 4.0, 0.2), fixture::failed_stage(1, 8.0), fixture::stage(2, 12.0, 0.5)];
    let treatments =
        vec![fixture::treatment("service", &[(1, stages.clone())]), fixture::treatment("routed", &[(1, stages)])];
    in_browser(&html(&fixture::campaign("gap-20261130", treatments), &["routed"]), |page| {
        assert_eq!(page.eval("document.querySelectorAll('#figure-ttft-p50 path.line').length"), json!(0));
        assert_eq!(
            page.eval("document.querySelectorAll('#figure-ttft-p50 path.f0').length"),
            json!(2),
            "two lone markers"
        );
    });
}

#[test]
fn without_scripts_the_static_charts_and_all_tables_are_there() {
    in_browser(&html(&fixture::published(), &ROUTED), |page| {
        page.reload_without_scripts();
        let shown = page.eval("[...document.querySelectorAll('.charts .chart svg[role=img]')].length");
        assert_eq!(shown, json!(6));
        assert_eq!(page.eval("document.querySelector('#controls').offsetHeight"), json!(0), "dead controls are hidden");
        assert_eq!(page.eval("document.querySelectorAll('table.summary tbody tr').length"), json!(5));
    });
}

#[test]
fn the_page_fits_a_narrow_screen_and_follows_dark_mode_and_print() {
    in_browser(&html(&fixture::published(), &ROUTED), |page| {
        page.resize(390, 800);
        assert_eq!(page.eval("document.documentElement.scrollWidth <= 390"), json!(true), "nothing scrolls sideways");
        let paper = "getComputedStyle(document.body).backgroundColor";
        page.media("", "dark");
        assert_eq!(page.eval(paper), json!("rgb(18, 22, 28)"));
        page.media("print", "dark");
        assert_eq!(page.eval(paper), json!("rgb(255, 255, 255)"), "paper is white");
        let charts = "[...document.querySelectorAll('.chart')].every(chart => chart.checkVisibility({contentVisibilityAuto: true}))";
        page.eval("window.dispatchEvent(new Event('beforeprint'))");
        assert_eq!(page.eval(charts), json!(true), "folded charts are printed");
    });
}
