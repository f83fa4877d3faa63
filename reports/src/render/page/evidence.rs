//! Links to evidence: they resolve from where the page lies, or there is none.

use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_yaml::Value;

use crate::campaign::Campaign;
use crate::compare::Series;
use crate::publish::links::durable;

/// The key of a published campaign's provenance that names where its evidence is.
pub(super) const PUBLISHED: &str = "evidence";

/// A name and where it leads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Link {
    /// What is shown.
    pub label: String,
    /// Relative and percent-encoded, or an address that lasts.
    pub href: String,
}

/// Where a page will lie, for links out of it.
#[derive(Clone, Debug)]
pub struct Place {
    /// The folder of the page, once the report is in place.
    pub folder: PathBuf,
    /// Whether evidence may be linked at all: not from copies that leave the machine.
    pub link_evidence: bool,
}

/// Where a published campaign's evidence is, and one link for each repetition whose evidence can be reached from a page in
/// the campaign's folder.
pub(super) fn links(campaign: &Campaign, treatments: &[&Series], place: &Place) -> Vec<Link> {
    let mut links: Vec<Link> =
        addresses(campaign).map(|link| Link { label: link.into(), href: escaped(link) }).collect();
    for series in treatments {
        let Some(treatment) = campaign.treatment(&series.name) else { continue };
        for repetition in &treatment.repetitions {
            let label = format!("{}, repetition {}", series.display_name, repetition.number);
            links.extend(target(&campaign.dir, &repetition.dir, place).map(|href| Link { label, href }));
        }
    }
    links
}

/// The addresses that a person gave when publishing; any other text there is no link.
fn addresses(campaign: &Campaign) -> impl Iterator<Item = &str> {
    let given = campaign.manifest.provenance.as_ref().and_then(|facts| facts.get(PUBLISHED)?.as_sequence());
    given.into_iter().flatten().filter_map(Value::as_str).filter(|link| durable(link).is_ok())
}

/// Brackets end a link in Markdown.
fn escaped(link: &str) -> String {
    link.replace('(', "%28").replace(')', "%29")
}

/// The way from the page to `evidence`: up to the campaign's folder, then down.
fn target(campaign: &Path, evidence: &Path, place: &Place) -> Option<String> {
    if !place.link_evidence || !evidence.is_dir() {
        return None;
    }
    let up = place.folder.strip_prefix(campaign).ok()?.components().count();
    let down = evidence.strip_prefix(campaign).ok()?.to_str()?;
    Some(format!("{}{}/", "../".repeat(up), encoded(down)))
}

/// A relative path for a link: everything but unreserved characters and slashes percent-encoded.
pub(super) fn encoded(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => out.push(char::from(byte)),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::fixture;

    #[test]
    fn evidence_is_linked_only_where_the_link_resolves() {
        let folder = tempfile::tempdir().unwrap();
        let mut campaign =
            fixture::campaign("links", vec![fixture::treatment("a b", &[(1, Vec::new()), (2, Vec::new())])]);
        campaign.dir = folder.path().into();
        for repetition in &mut campaign.treatments[0].repetitions {
            repetition.dir = folder.path().join(format!("runs/a b/repetition-{}", repetition.number));
        }
        fs_err::create_dir_all(folder.path().join("runs/a b/repetition-1")).unwrap();
        let series = fixture::series(&campaign, "a b");
        let hrefs = |place: &Place| -> Vec<String> {
            links(&campaign, &[&series], place).into_iter().map(|link| link.href).collect()
        };
        let inside = Place { folder: folder.path().join("report/a-vs-b"), link_evidence: true };
        assert_eq!(hrefs(&inside), ["../../runs/a%20b/repetition-1/"]);
        assert!(hrefs(&Place { link_evidence: false, ..inside }).is_empty());
        assert!(hrefs(&Place { folder: "/elsewhere".into(), link_evidence: true }).is_empty());
    }

    #[test]
    fn addresses_that_last_are_linked_wherever_the_page_lies() {
        let mut campaign = fixture::campaign("links", vec![fixture::treatment("service", &[(1, Vec::new())])]);
        let given = "evidence: [https://example.org/a_(b).tar, /home/ada/a, 'javascript:x']";
        campaign.manifest.provenance = Some(serde_yaml::from_str(given).unwrap());
        let series = fixture::series(&campaign, "service");
        let place = Place { folder: "/elsewhere".into(), link_evidence: false };
        let link =
            Link { label: "https://example.org/a_(b).tar".into(), href: "https://example.org/a_%28b%29.tar".into() };
        assert_eq!(links(&campaign, &[&series], &place), [link]);
    }
}
