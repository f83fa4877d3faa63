//! The deterministic core: model servers and the endpoint picker against an abstract clock, in seconds.
