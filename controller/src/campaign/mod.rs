//! A campaign's identity, manifest, lock, treatment order and resumption.
