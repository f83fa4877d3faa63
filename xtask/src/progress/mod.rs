//! How a running campaign looks on standard error: a bar on a terminal, plain lines elsewhere.

mod bar;
mod lines;

use std::io::Write;
use std::sync::{Mutex, PoisonError};

use controller::lifecycle::{Event, Observer};

pub use lines::duration;

use crate::context::Context;

/// Shows events as they come.
pub struct Progress {
    view: Mutex<View>,
}

enum View {
    Lines(lines::Lines),
    Bar(Box<bar::Bar>),
}

impl Progress {
    /// A bar where the terminal can redraw one, plain lines otherwise.
    pub fn new(context: &Context) -> Self {
        let view = if context.interactive {
            View::Bar(Box::new(bar::Bar::new(context.color)))
        } else {
            View::Lines(lines::Lines::new(context.color))
        };
        Self { view: Mutex::new(view) }
    }

    /// Removes the bar, so that what follows stands on its own.
    pub fn finish(&self) {
        if let View::Bar(bar) = &*self.view.lock().unwrap_or_else(PoisonError::into_inner) {
            bar.clear();
        }
    }
}

impl Observer for Progress {
    fn notify(&self, event: Event) {
        match &mut *self.view.lock().unwrap_or_else(PoisonError::into_inner) {
            View::Bar(bar) => bar.show(&event),
            View::Lines(lines) => {
                if let Some(line) = lines.line(&event) {
                    // Progress that nobody can read any more is no reason to end the campaign.
                    writeln!(std::io::stderr().lock(), "{line}").ok();
                }
            }
        }
    }
}
