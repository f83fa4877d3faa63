//! The mark that says that a checkout is ours, inside its `.git` so that it never shows as a change.

use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

const FILE: &str = "inference-benchmark.json";

/// What our checkout was made from.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub(super) struct Mark {
    /// Where it was fetched from.
    pub(super) url: String,
    /// What was asked for.
    pub(super) revision: String,
    /// The commit that was; empty until it is complete.
    pub(super) commit: String,
    /// Whether it was finished.
    pub(super) complete: bool,
}

impl Mark {
    /// The mark of a checkout; `None` when it has none that can be read.
    pub(super) fn read(checkout: &Path) -> Option<Self> {
        serde_json::from_slice(&fs_err::read(checkout.join(".git").join(FILE)).ok()?).ok()
    }

    pub(super) fn write(&self, checkout: &Path) -> io::Result<()> {
        let folder = checkout.join(".git");
        let temporary = folder.join(format!("{FILE}.new"));
        fs_err::write(&temporary, serde_json::to_vec_pretty(self)?)?;
        fs_err::rename(temporary, folder.join(FILE))
    }
}
