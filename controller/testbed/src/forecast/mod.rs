//! The virtual-time driver: a whole campaign in about a second.
