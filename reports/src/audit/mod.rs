//! Recomputes a stage's numbers from per-request records and compares them with the stored documents.
