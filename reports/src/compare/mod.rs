//! Comparisons of a candidate treatment with a baseline treatment over a shared ladder.
