//! Layered, typed settings: defaults < profile < environment < flags; every value knows its origin.
