//! CPU time and memory of processes, from /proc.

use serde::{Deserialize, Serialize};

use super::plan::Component;

/// What a process used during a stage.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Usage {
    /// Its name.
    pub name: String,
    /// CPU seconds, all threads; absent when the process ended.
    pub cpu_seconds: Option<f64>,
    /// Resident memory at the end, bytes; absent when the process ended.
    pub resident_bytes: Option<u64>,
}

/// CPU time of processes at one moment.
#[derive(Debug)]
pub(super) struct Reading<'a> {
    components: &'a [Component],
    cpu: Vec<Option<f64>>,
}

impl<'a> Reading<'a> {
    /// Reads them now.
    pub(super) fn now(components: &'a [Component]) -> Self {
        Self { components, cpu: components.iter().map(|component| cpu_seconds(component.pid)).collect() }
    }

    /// What each used since.
    pub(super) fn since(&self) -> Vec<Usage> {
        let usage = |(component, before): (&Component, &Option<f64>)| Usage {
            name: component.name.clone(),
            cpu_seconds: before.zip(cpu_seconds(component.pid)).map(|(before, now)| (now - before).max(0.0)),
            resident_bytes: resident_bytes(component.pid),
        };
        self.components.iter().zip(&self.cpu).map(usage).collect()
    }
}

/// Seconds on a CPU of all living threads: nanoseconds from the scheduler, where `stat` counts hundredths.
fn cpu_seconds(pid: u32) -> Option<f64> {
    let mut nanoseconds = 0_u64;
    for task in std::fs::read_dir(format!("/proc/{pid}/task")).ok()? {
        // A thread may end between being listed and being read.
        let Ok(text) = std::fs::read_to_string(task.ok()?.path().join("schedstat")) else { continue };
        nanoseconds += text.split(' ').next()?.parse::<u64>().ok()?;
    }
    Some(nanoseconds as f64 / 1e9)
}

fn resident_bytes(pid: u32) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kibibytes| kibibytes << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_has_memory_and_cpu_time_and_a_process_that_is_gone_has_neither() {
        let component = |name: &str, pid| Component { name: name.into(), pid };
        let components = [component("me", std::process::id()), component("gone", u32::MAX)];
        let reading = Reading::now(&components);
        let mut sum = 0_u64;
        for number in 0..3_000_000_u64 {
            sum = std::hint::black_box(sum.wrapping_add(number));
        }
        let usage = reading.since();
        assert!(usage[0].cpu_seconds.unwrap() > 0.0 && usage[0].resident_bytes.unwrap() > 0, "{usage:?}");
        assert_eq!((usage[1].cpu_seconds, usage[1].resident_bytes), (None, None));
    }
}
