//! Templates and deep merge: scenarios, specs and workloads.
