//! Events on a terminal: finished lines above, one bar that is redrawn below.

use std::time::Duration;

use controller::lifecycle::Event;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::lines::{self, Lines};

/// The bar and the lines above it.
#[derive(Debug)]
pub struct Bar {
    bar: ProgressBar,
    lines: Lines,
}

impl Bar {
    /// A bar on standard error.
    pub fn new(color: bool) -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(10));
        bar.set_style(spinner());
        bar.enable_steady_tick(Duration::from_millis(200));
        Self { bar, lines: Lines::new(color) }
    }

    /// Shows an event: what passes goes into the bar, what should stay goes above it.
    pub fn show(&mut self, event: &Event) {
        match event {
            Event::Preparing { what } => self.wait(what),
            Event::Step { cell, step } => self.wait(&format!("{cell}: {}", lines::doing(*step))),
            Event::Load(load) => {
                self.bar.set_style(ladder());
                self.bar.set_length(load.planned);
                self.bar.set_position(load.done.min(load.planned));
                self.bar.set_message(lines::position(load));
            }
            Event::Began { .. } | Event::AlreadyDone { .. } | Event::Published { .. } | Event::Warning { .. } => {
                if let Some(line) = self.lines.line(event) {
                    self.bar.suspend(|| eprintln!("{line}"));
                }
            }
        }
    }

    /// Removes the bar.
    pub fn clear(&self) {
        self.bar.finish_and_clear();
    }

    fn wait(&self, what: &str) {
        self.bar.set_style(spinner());
        self.bar.set_message(what.to_owned());
    }
}

fn spinner() -> ProgressStyle {
    ProgressStyle::with_template("{spinner} {msg} ({elapsed})").unwrap_or_else(|_| ProgressStyle::default_spinner())
}

fn ladder() -> ProgressStyle {
    ProgressStyle::with_template("[{bar:24}] {wide_msg}")
        .unwrap_or_else(|_| ProgressStyle::default_bar())
        .progress_chars("=> ")
}
