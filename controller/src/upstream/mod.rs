//! The pinned llm-d-benchmark checkout and its Python environment.
