//! The campaign manifest: what was run, with what identity and provenance.
