//! Files written by inference-perf 0.4 to 0.7.
