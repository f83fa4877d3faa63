//! Signals to a child's whole process group.

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

/// Sends a signal to every process of the group; a group that is gone already is what was wanted.
pub(super) fn signal(group: u32, signal: Signal) {
    if let Ok(group) = i32::try_from(group) {
        // ESRCH: gone already. EPERM (macOS): only a zombie is left. Whoever calls this then checks that it has ended.
        killpg(Pid::from_raw(group), signal).unwrap_or_default();
    }
}

/// The signal of this number, SIGTERM if there is none.
pub(super) fn or_term(number: i32) -> Signal {
    Signal::try_from(number).unwrap_or(Signal::SIGTERM)
}
