//! What this process and all its children may use of the machine.

use nix::sys::resource::{Resource, getrlimit, setrlimit};

/// Open files that are asked for where the machine allows them: a thousand streams through a router take some 4,000.
const OPEN_FILES: u64 = 16_384;

/// Sets the limits that programs here should run under, once, before anything is started: as many open files as are
/// needed where the hard limit allows them, and no core files, which would hold every secret of the environment.
///
/// A limit that cannot be set stays as it is: nothing fails because of it here, and the doctor tells.
pub fn prepare() {
    if let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE) {
        let wanted = OPEN_FILES.min(hard);
        if soft < wanted {
            setrlimit(Resource::RLIMIT_NOFILE, wanted, hard).ok();
        }
    }
    setrlimit(Resource::RLIMIT_CORE, 0, 0).ok();
}
