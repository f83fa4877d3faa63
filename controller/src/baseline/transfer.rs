//! Copies a store's content to another: a bucket to a working copy, or back.

use super::store::{Error, Store, history, object, pointer};

/// What a transfer copied.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Transfer {
    /// Objects that the target did not have.
    pub objects: usize,
    /// Promotion records that it did not have.
    pub records: usize,
    /// Pointers that changed.
    pub pointers: usize,
    /// Pointers that were left alone because the target has promotions that the source does not know.
    pub diverged: Vec<String>,
}

/// Copies objects and records, and moves pointers forward where `pointers` is set. Everything is checked against its digest
/// on the way. A pointer only moves when what the target has is part of the source's history.
///
/// # Errors
/// An object is corrupted, or one of the stores says no.
pub fn transfer(from: &Store, to: &Store, pointers: bool) -> Result<Transfer, Error> {
    let mut done = Transfer::default();
    let there = to.place.list("objects/sha256")?;
    for path in from.place.list("objects/sha256")? {
        if there.contains(&path) {
            continue;
        }
        let name = path.rsplit('/').next().unwrap_or_default();
        to.place.put(&object(name), &from.object(name)?)?;
        done.objects += 1;
    }
    for (identity, channel, digest) in from.pointers()? {
        let known = to.place.list(&history(&identity, &channel))?;
        for path in from.place.list(&history(&identity, &channel))? {
            if known.contains(&path) {
                continue;
            }
            if let Some(content) = from.place.get(&path)? {
                to.place.put(&path, &content)?;
                done.records += 1;
            }
        }
        let current = to.current(&identity, &channel)?;
        if !pointers || current.as_deref() == Some(digest.as_str()) {
            continue;
        }
        let path = pointer(&identity, &channel);
        let past = from.history(&identity, &channel)?;
        if current.as_ref().is_some_and(|current| !past.iter().any(|record| record.digest == *current)) {
            done.diverged.push(path);
            continue;
        }
        let expected = current.map(|current| format!("{current}\n"));
        to.place.swap(&path, expected.as_deref().map(str::as_bytes), format!("{digest}\n").as_bytes())?;
        done.pointers += 1;
    }
    Ok(done)
}
