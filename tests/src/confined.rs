//! A machine with little left: a small disk or few ports, in Linux namespaces that an ordinary user can make.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::world::wait_until;

/// Namespaces that live as long as this does.
pub struct Confined {
    holder: Child,
}

impl Confined {
    /// A machine whose folder `place` is a file system of `kilobytes`; `None`, said aloud, where namespaces cannot be made.
    pub fn disk(place: &Path, kilobytes: u64) -> Option<Self> {
        fs_err::create_dir_all(place).expect("a folder");
        let mount = format!("mount -t tmpfs -o size={kilobytes}k tmpfs '{}'", place.display());
        Self::hold(&["--mount"], &mount)
    }

    /// A machine with a loopback network of its own on which programs that ask for any port get one of these.
    pub fn ports(first: u16, last: u16) -> Option<Self> {
        let limit = format!("ip link set lo up && echo '{first} {last}' > /proc/sys/net/ipv4/ip_local_port_range");
        Self::hold(&["--net"], &limit)
    }

    fn hold(namespaces: &[&str], prepare: &str) -> Option<Self> {
        let script = format!("({prepare}) 2>/dev/null && echo $$ && exec sleep 600");
        let mut holder = Command::new("unshare")
            .args(["--user", "--map-root-user"])
            .args(namespaces)
            .args(["sh", "-c", &script])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        let mut ended = false;
        let name = PathBuf::from(format!("/proc/{}/comm", holder.id()));
        wait_until(
            "the namespaces are made",
            || {
                ended = holder.try_wait().is_ok_and(|status| status.is_some());
                ended || fs_err::read_to_string(&name).is_ok_and(|name| name.trim() == "sleep")
            },
            |ready| *ready,
        );
        if ended {
            eprintln!("SKIPPED: this machine does not let us make namespaces (unshare --user)");
            return None;
        }
        Some(Self { holder })
    }

    /// The same command, run inside.
    pub fn enter(&self, command: &Command) -> Command {
        let mut inside = Command::new("nsenter");
        inside.arg(format!("--target={}", self.holder.id())).args(["--user", "--preserve-credentials"]);
        for (flag, namespace) in [("--mount", "mnt"), ("--net", "net")] {
            let of = |pid: &str| std::fs::read_link(format!("/proc/{pid}/ns/{namespace}")).ok();
            if of("self") != of(&self.holder.id().to_string()) {
                inside.arg(flag);
            }
        }
        inside.arg("--").arg(command.get_program()).args(command.get_args()).env_clear();
        inside.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        if let Some(folder) = command.get_current_dir() {
            inside.current_dir(folder);
        }
        inside.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        inside
    }

    /// Where a path of the inside is seen from outside.
    pub fn seen(&self, path: &Path) -> PathBuf {
        let below = path.strip_prefix("/").unwrap_or(path);
        PathBuf::from(format!("/proc/{}/root", self.holder.id())).join(below)
    }
}

impl Drop for Confined {
    fn drop(&mut self) {
        // Its namespaces go with it; a holder that is gone already is what we want.
        if self.holder.kill().is_ok() {
            self.holder.wait().ok();
        }
    }
}
