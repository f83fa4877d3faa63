//! Campaign ids: the name of a campaign and of its folder.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use jiff::Timestamp;

use crate::failure::{Failure, Result};

/// Longest id accepted: ids become namespace and label values on clusters, which allow 63 characters.
pub const MAX_LENGTH: usize = 63;

/// A campaign's id: `[a-z0-9][a-z0-9.-]*`, at most [`MAX_LENGTH`] characters, no `..`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CampaignId(String);

impl CampaignId {
    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// An id for a campaign of `profile` started at `now` that no folder of `results` bears yet:
    /// `<profile>-<YYYYMMDD>-<HHMMSS>`, with `-2`, `-3`, … when that second is taken.
    pub fn generate(profile: &str, now: Timestamp, results: &Path) -> Self {
        let mut stem = slug(profile);
        stem.truncate(MAX_LENGTH - 24);
        let base = format!("{}-{}", stem.trim_end_matches(['.', '-']), now.strftime("%Y%m%d-%H%M%S"));
        let taken = |id: &str| results.join(id).symlink_metadata().is_ok();
        let mut id = base.clone();
        let mut copy = 2_u32;
        while taken(&id) {
            id = format!("{base}-{copy}");
            copy += 1;
        }
        Self(id)
    }
}

impl FromStr for CampaignId {
    type Err = Failure;

    fn from_str(text: &str) -> Result<Self> {
        let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '.' || c == '-';
        let starts_well = text.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit());
        if starts_well && text.chars().all(allowed) && !text.contains("..") && text.len() <= MAX_LENGTH {
            return Ok(Self(text.to_owned()));
        }
        Err(Failure::usage(format!("{text:?} cannot be a campaign id")).hint(format!(
            "use lower-case letters, digits, '.' and '-', starting with a letter or digit, at most {MAX_LENGTH} \
             characters, for example {}",
            slug(text)
        )))
    }
}

impl fmt::Display for CampaignId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The nearest acceptable id to `text`.
fn slug(text: &str) -> String {
    let mut slug = String::with_capacity(text.len().min(MAX_LENGTH));
    for c in text.chars().flat_map(char::to_lowercase) {
        let c = if c.is_ascii_lowercase() || c.is_ascii_digit() || c == '.' { c } else { '-' };
        let repeats = matches!(c, '.' | '-') && slug.ends_with(['.', '-']);
        if !repeats && slug.len() < MAX_LENGTH {
            slug.push(c);
        }
    }
    let slug = slug.trim_matches(['.', '-']);
    if slug.is_empty() { "campaign".to_owned() } else { slug.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::Kind;

    #[test]
    fn ids_of_lower_case_letters_digits_dots_and_dashes_are_accepted() {
        for id in ["a", "0", "quick-20260817-101500", "optimized-baseline-v0.9", "a.b-c"] {
            assert_eq!(id.parse::<CampaignId>().unwrap().as_str(), id);
        }
    }

    #[test]
    fn ids_that_could_leave_their_folder_or_break_a_label_are_refused_with_a_proposal() {
        for (id, proposal) in [
            ("Quick", "quick"),
            ("a/b", "a-b"),
            ("../up", "up"),
            ("a..b", "a.b"),
            (".hidden", "hidden"),
            ("-flag", "flag"),
            ("", "campaign"),
            ("run 1\n", "run-1"),
            ("é", "campaign"),
        ] {
            let failure = id.parse::<CampaignId>().unwrap_err();
            assert_eq!(failure.kind, Kind::Usage, "{id:?}");
            assert!(failure.hints[0].ends_with(&format!("for example {proposal}")), "{id:?}: {:?}", failure.hints);
        }
        assert!("a".repeat(64).parse::<CampaignId>().is_err());
    }

    #[test]
    fn a_generated_id_carries_profile_and_date_and_is_never_one_that_exists() {
        let results = tempfile::tempdir().unwrap();
        let now: Timestamp = "2026-08-17T10:15:00Z".parse().unwrap();
        let first = CampaignId::generate("quick", now, results.path());
        assert_eq!(first.as_str(), "quick-20260817-101500");
        fs_err::create_dir(results.path().join(first.as_str())).unwrap();
        assert_eq!(CampaignId::generate("quick", now, results.path()).as_str(), "quick-20260817-101500-2");
        let odd = CampaignId::generate("My Profile/∞", now, results.path());
        assert_eq!(odd.as_str().parse::<CampaignId>().unwrap(), odd);
    }
}
