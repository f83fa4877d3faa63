//! standup, smoketest, run, collect, teardown: the order, and the guard that always tears down.
