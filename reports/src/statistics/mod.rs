//! Percentiles, confidence intervals and tests; pure functions without random numbers.
