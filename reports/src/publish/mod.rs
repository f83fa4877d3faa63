//! Curated copies of a report that may leave the machine, and the check that they are still true.
pub mod scan;
