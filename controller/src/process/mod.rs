//! The one way to run another program.
