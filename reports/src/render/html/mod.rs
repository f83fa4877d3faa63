//! The report as one HTML file: static charts that a small script redraws in the reader's choice.
//!
//! Everything is inside: no network, no library, a content security policy that allows exactly this script and this style.

mod data;

#[cfg(test)]
mod browser;
#[cfg(test)]
mod tests;

use serde::Serialize;
use sha2::{Digest, Sha256};

use super::chart::{Chart, DARK, LIGHT, css, draw_inline};
use super::charts::repetitions;
use super::page::{Page, Report};
use super::templates::{Error, fill};
use data::{Figure, Statistic, Treatment};

const SCRIPT: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../config/report/report.js"));
const STYLE: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../config/report/report.css"));

#[derive(Serialize)]
struct Context<'a> {
    page: &'a Page,
    figures: Vec<Drawn<'a>>,
    treatments: Vec<Treatment<'a>>,
    statistics: Vec<Statistic>,
    repetitions: String,
    data: String,
    script: &'a str,
    script_hash: String,
    style: &'a str,
    style_hash: String,
}

#[derive(Serialize)]
struct Drawn<'a> {
    #[serde(flatten)]
    figure: &'a Figure,
    svg: String,
}

/// The campaign's page as one HTML document.
pub fn page(report: &Report, page: &Page, charts: &[Chart]) -> Result<String, Error> {
    let figures = data::figures(report, charts);
    let statistics = data::statistics(report);
    let treatments = data::treatments(report);
    let data = data::json(report, &figures, &statistics, &treatments);
    let drawn = figures.iter().map(|figure| Drawn { figure, svg: static_chart(charts, &figure.id) }).collect();
    let style =
        format!("{STYLE}{}\n@media screen and (prefers-color-scheme: dark){{{}}}\n", css(&LIGHT, ""), css(&DARK, ""));
    fill(
        "report.html",
        Context {
            page,
            figures: drawn,
            repetitions: repetitions(&report.treatments),
            statistics: if report.treatments.is_empty() { Vec::new() } else { statistics },
            treatments,
            data,
            script: SCRIPT,
            script_hash: integrity(SCRIPT),
            style: &style,
            style_hash: integrity(&style),
        },
    )
}

fn static_chart(charts: &[Chart], id: &str) -> String {
    charts.iter().find(|chart| chart.id == id).map_or_else(String::new, draw_inline)
}

/// The source expression by which a content security policy allows exactly this text.
fn integrity(text: &str) -> String {
    format!("sha256-{}", base64(&Sha256::digest(text.as_bytes())))
}

/// Base64 with padding (RFC 4648, section 4).
fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let group = (0..3).fold(0u32, |group, index| group << 8 | u32::from(chunk.get(index).copied().unwrap_or(0)));
        for position in 0..4 {
            let sextet = (group >> (18 - 6 * position) & 63) as usize;
            out.push(if position <= chunk.len() { char::from(ALPHABET[sextet]) } else { '=' });
        }
    }
    out
}
