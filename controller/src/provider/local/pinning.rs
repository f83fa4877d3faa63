//! CPU sets of their own for client, proxy, picker and servers, so that none takes another's time.

use std::ffi::OsStr;

use crate::process::Command;

/// Cores below which there is nothing to divide: one for each of the four.
const LEAST: usize = 4;

/// The sets, as `taskset -c` reads them; all absent where components share all cores.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Pinning {
    /// The load's.
    pub(super) client: Option<String>,
    /// The proxy's.
    pub(super) proxy: Option<String>,
    /// The picker's.
    pub(super) picker: Option<String>,
    /// The servers' (and the embedded router's).
    pub(super) servers: Option<String>,
    /// What to say about it.
    pub(super) said: String,
}

impl Pinning {
    /// The sets for this process's cores.
    pub(super) fn of_this_machine() -> Self {
        let cores = std::fs::read_to_string("/proc/self/status").map_or_else(|_| Vec::new(), |status| allowed(&status));
        match which::which("taskset") {
            Ok(_) => Self::over(&cores),
            Err(_) => Self::none("components share all cores: there is no `taskset` to pin them with"),
        }
    }

    /// No sets.
    pub(super) fn none(said: &str) -> Self {
        Self { said: said.to_owned(), ..Self::default() }
    }

    fn over(cores: &[usize]) -> Self {
        let count = cores.len();
        if count < LEAST {
            return Self::none(&format!("components share all cores: {count} are too few to give each its own"));
        }
        let quarter = count / LEAST;
        let set = |number: usize| {
            let last = if number + 1 == LEAST { count } else { (number + 1) * quarter };
            let cores: Vec<String> = cores[number * quarter..last].iter().map(ToString::to_string).collect();
            Some(cores.join(","))
        };
        let (client, proxy, picker, servers) = (set(0), set(1), set(2), set(3));
        let show = |set: &Option<String>| set.clone().unwrap_or_default();
        let said = format!(
            "pinned to cores of their own: client {}, proxy {}, picker {}, servers {}",
            show(&client),
            show(&proxy),
            show(&picker),
            show(&servers)
        );
        Self { client, proxy, picker, servers, said }
    }
}

/// A command that runs on these cores, or on all.
pub(in crate::provider) fn command(step: &str, program: impl AsRef<OsStr>, cores: Option<&str>) -> Command {
    match cores {
        None => Command::new(step, program),
        Some(cores) => Command::new(step, "taskset").args(["-c", cores]).arg(program),
    }
}

/// The cores that a process may use, from its status file: `Cpus_allowed_list: 0-3,8`.
fn allowed(status: &str) -> Vec<usize> {
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap_or_default();
    let ranges = list.trim().split(',').filter_map(|part| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.parse::<usize>().ok()?..=last.parse::<usize>().ok()?)
    });
    ranges.flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cores_are_divided_into_disjoint_sets_where_there_are_four_or_more() {
        assert_eq!(allowed("Name:\tx\nCpus_allowed_list:\t0-2,8\n"), [0, 1, 2, 8]);
        let pinning = Pinning::over(&[0, 1, 2, 8]);
        let sets = [&pinning.client, &pinning.proxy, &pinning.picker, &pinning.servers];
        assert_eq!(sets.map(|set| set.as_deref().unwrap()), ["0", "1", "2", "8"]);
        let pinning = Pinning::over(&(0..10).collect::<Vec<_>>());
        assert_eq!((pinning.client.as_deref(), pinning.servers.as_deref()), (Some("0,1"), Some("6,7,8,9")));
    }

    #[test]
    fn fewer_cores_are_shared_and_that_is_said() {
        let pinning = Pinning::over(&[0, 1]);
        assert_eq!(pinning.proxy, None);
        assert!(pinning.said.contains("2 are too few"), "{}", pinning.said);
    }
}
