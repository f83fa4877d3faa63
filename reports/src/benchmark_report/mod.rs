//! Benchmark Report v0.2 and v0.2.1 documents: types, reading, writing, and the converter from native files.
