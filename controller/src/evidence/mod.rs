//! Collects, redacts, compresses and publishes a repetition's evidence atomically.
