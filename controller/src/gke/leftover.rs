//! What may still be there, and may still be billed.

use std::fmt;

use crate::failure::{Failure, Kind};

/// Something that should be gone and was not seen to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leftover {
    /// What: `GPU nodes of pool gpu-h100`, `Filestore instance pvc-1`.
    pub what: String,
    /// Why it is not known to be gone.
    pub why: String,
}

/// Everything that a cleanup could not verify.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Leftovers(Vec<Leftover>);

impl Leftovers {
    /// Notes something; a failure's whole text is its first line here, the logs have the rest.
    pub fn add(&mut self, what: impl Into<String>, why: impl fmt::Display) {
        let why = why.to_string();
        self.0.push(Leftover { what: what.into(), why: why.lines().next().unwrap_or_default().to_owned() });
    }

    /// Notes what another list has.
    pub fn extend(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// Whether everything is known to be gone.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What is left.
    pub fn iter(&self) -> impl Iterator<Item = &Leftover> {
        self.0.iter()
    }

    /// Nothing, or the failure that names everything.
    ///
    /// # Errors
    /// [`Kind::Cleanup`] when something may be left.
    pub fn accept(self, hint: impl Into<String>) -> Result<(), Failure> {
        if self.is_empty() { Ok(()) } else { Err(Failure::new(Kind::Cleanup, self).hint(hint)) }
    }
}

impl fmt::Display for Leftovers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("this may still be there and be billed:")?;
        for Leftover { what, why } in &self.0 {
            write!(f, "\n  {what}: {why}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Leftovers {}
