//! What can happen to an external step, what is to come of it, and which steps there are.

mod declared;

use std::path::Path;

use crate::python::Python;

pub use declared::{Declared, declared};

/// What can happen to a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// Its program ends with exit code 7.
    Exit,
    /// It never ends; the user presses Ctrl-C.
    Hang,
    /// SIGKILL ends it.
    Killed,
    /// It does what it should and says something else than it should.
    Garbage,
    /// The same with bytes that are no text.
    NotUtf8,
    /// The same with far more than anyone can use.
    Huge,
    /// It ends well and has done nothing.
    Nothing,
    /// Its program is not there.
    Missing,
}

impl Fault {
    /// All of them.
    pub const ALL: [Self; 8] =
        [Self::Exit, Self::Hang, Self::Killed, Self::Garbage, Self::NotUtf8, Self::Huge, Self::Nothing, Self::Missing];

    /// The word that scripted programs know it by.
    pub fn word(self) -> &'static str {
        match self {
            Self::Exit => "exit",
            Self::Hang => "hang",
            Self::Killed => "killed",
            Self::Garbage => "garbage",
            Self::NotUtf8 => "not-utf8",
            Self::Huge => "huge",
            Self::Nothing => "nothing",
            Self::Missing => "missing",
        }
    }
}

/// What is to come of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ends {
    /// The command ends with this exit code, and its message has this in it.
    With(i32, &'static str),
    /// The step's effect is there and its words do not matter: the command succeeds.
    Well,
}

/// How a step's program comes to be missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// It was never on PATH.
    Absent(Ends),
    /// It goes after this earlier step (`program step`).
    After(&'static str, Ends),
    /// It cannot be, for this reason.
    Never(&'static str),
}

/// A step of a program, and what is to come of each fault.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// What the machine has to make an environment with.
    pub python: Python,
    /// The program.
    pub program: &'static str,
    /// The step, as journal and errors name it.
    pub step: &'static str,
    /// The exit code when the program fails.
    pub code: i32,
    /// What the message then calls it; the step's own error where this is its name.
    pub named: &'static str,
    /// Garbage and bytes that are no text.
    pub garbage: Ends,
    /// A flood.
    pub huge: Ends,
    /// Success without effect.
    pub nothing: Ends,
    /// No program.
    pub missing: Missing,
}

impl Row {
    /// What is to come of a fault; `None` where it cannot be.
    pub fn ends(&self, fault: Fault) -> Option<Ends> {
        Some(match (fault, self.missing) {
            (Fault::Hang, _) => Ends::With(130, ""),
            (Fault::Exit | Fault::Killed, _) => Ends::With(self.code, self.named),
            (Fault::Garbage | Fault::NotUtf8, _) => self.garbage,
            (Fault::Huge, _) => self.huge,
            (Fault::Nothing, _) => self.nothing,
            (Fault::Missing, Missing::Absent(ends) | Missing::After(_, ends)) => ends,
            (Fault::Missing, Missing::Never(_)) => return None,
        })
    }
}

/// The command lines of processes whose environment or arguments mention `place`, whoever their parent is now.
pub fn left_running(place: &Path) -> Vec<String> {
    let needle = place.to_string_lossy().into_owned();
    let Ok(entries) = fs_err::read_dir("/proc") else { return Vec::new() };
    let lines = entries.filter_map(|entry| {
        let folder = entry.ok()?.path();
        let text =
            |name: &str| std::fs::read(folder.join(name)).map(|it| String::from_utf8_lossy(&it).replace('\0', " "));
        let command = text("cmdline").ok()?;
        let ours = command.contains(&needle) || text("environ").is_ok_and(|it| it.contains(&needle));
        (ours && !command.is_empty()).then_some(command)
    });
    lines.collect()
}
