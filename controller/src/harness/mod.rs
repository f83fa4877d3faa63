//! inference-perf: its Python environment, tokenizer, run, progress and watchdog.
