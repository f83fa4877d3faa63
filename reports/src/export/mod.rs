//! Bundles and formats for other tools: Prism, github-action-benchmark, Bencher, history.
