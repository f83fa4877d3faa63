//! The regression gate: limits, baselines' contents, verdicts.
