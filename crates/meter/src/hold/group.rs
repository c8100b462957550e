//! A control group with a memory limit, made for one worker and gone after it, whatever happens to us.

use hardware::cgroup::{self, Group};
use std::{
    fs::{self, File, OpenOptions},
    io,
    os::{fd::AsRawFd, unix::process::CommandExt},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicU64, Ordering},
    thread,
    time::{Duration, Instant},
};
use types::Bytes;

/// Told apart within this process.
static MADE: AtomicU64 = AtomicU64::new(0);

/// How long the kernel may take to see that a group is empty.
const PATIENCE: Duration = Duration::from_secs(2);

/// Waits for the end of its input, which is ours, and removes the group that we could not remove.
const REMOVER: &str = r#"
read -r _
tries=0
while [ -d "$0" ] && [ "$tries" -lt 50 ]; do
    while read -r process; do kill -9 "$process"; done < "$0/cgroup.procs"
    rmdir "$0" || sleep 0.1
    tries=$((tries + 1))
done 2>/dev/null
"#;

/// A group of one worker and its children.
#[derive(Debug)]
pub(super) struct MemoryGroup {
    folder: PathBuf,
    version: u8,
    /// Removes the group should this process be killed; `None` if there is no shell.
    remover: Option<Child>,
}

impl MemoryGroup {
    /// Makes a group with this limit, swap taken away.
    pub(super) fn make(bytes: Bytes) -> io::Result<MemoryGroup> {
        let own = cgroup::group(std::process::id(), "memory")
            .ok_or_else(|| io::Error::other("this process has no control group for memory"))?;
        MemoryGroup::make_in(&place(&own)?, own.version, bytes)
    }

    fn make_in(parent: &Path, version: u8, bytes: Bytes) -> io::Result<MemoryGroup> {
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let folder = parent.join(format!("modelmeter-{}-{number}", std::process::id()));
        fs::create_dir(&folder)?;
        // From here on the group is removed whatever fails.
        let mut group = MemoryGroup { folder, version, remover: None };
        group.limit(bytes)?;
        group.remover = start_remover(&group.folder);
        Ok(group)
    }

    fn limit(&self, bytes: Bytes) -> io::Result<()> {
        let set = |file: &str, value: &str| fs::write(self.folder.join(file), value);
        let has = |file: &str| self.folder.join(file).exists();
        let limit = bytes.0.to_string();
        if self.version == 2 {
            if !has("memory.max") {
                return Err(io::Error::other("control groups here have no memory controller"));
            }
            set("memory.max", &limit)?;
            if has("memory.swap.max") {
                set("memory.swap.max", "0")?;
            }
            // One of several processes is of no use without the others.
            let _ = set("memory.oom.group", "1");
            return Ok(());
        }
        set("memory.limit_in_bytes", &limit)?;
        // Memory and swap together may be no more than memory alone; kernels that do not count swap are asked not to.
        if has("memory.memsw.limit_in_bytes") {
            set("memory.memsw.limit_in_bytes", &limit)?;
        } else {
            let _ = set("memory.swappiness", "0");
        }
        Ok(())
    }

    /// The file through which a process enters.
    pub(super) fn door(&self) -> io::Result<File> {
        OpenOptions::new().write(true).open(self.members())
    }

    /// How often the kernel killed in this group.
    pub(super) fn kills(&self) -> Option<u64> {
        let file = if self.version == 2 { "memory.events" } else { "memory.oom_control" };
        parse_kills(&fs::read_to_string(self.folder.join(file)).ok()?)
    }

    fn members(&self) -> PathBuf {
        self.folder.join("cgroup.procs")
    }

    /// Ends whoever is still in the group: children that their worker left behind.
    fn empty(&self) {
        let members = fs::read_to_string(self.members()).unwrap_or_default();
        for process in members.lines().filter_map(|line| line.parse::<libc::pid_t>().ok()) {
            if process > 1 {
                // SAFETY: kill takes two numbers and touches no memory of ours.
                unsafe { libc::kill(process, libc::SIGKILL) };
            }
        }
    }
}

impl Drop for MemoryGroup {
    fn drop(&mut self) {
        let begin = Instant::now();
        loop {
            self.empty();
            let is_gone = fs::remove_dir(&self.folder).is_ok() || !self.folder.exists();
            if is_gone || begin.elapsed() > PATIENCE {
                break;
            }
            thread::sleep(Duration::from_millis(5));
        }
        if let Some(mut remover) = self.remover.take() {
            // The end of its input lets it go; a group that is still there is then its own.
            drop(remover.stdin.take());
            let _ = remover.wait();
        }
    }
}

/// Moves the calling process into a group; safe between `fork` and `exec`.
pub(super) fn enter(door: &File) -> io::Result<()> {
    // `0` is whoever writes it.
    let itself = b"0";
    // SAFETY: the descriptor is open as long as `door`, and the buffer is as long as is said.
    let written = unsafe { libc::write(door.as_raw_fd(), itself.as_ptr().cast(), itself.len()) };
    if written == 1 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Somebody who outlives us; in a process group of its own, so that what is meant for ours does not reach it.
fn start_remover(folder: &Path) -> Option<Child> {
    Command::new("/bin/sh")
        .arg("-c")
        .arg(REMOVER)
        .arg(folder)
        // It outlives us and needs nothing but `rmdir` and `sleep`.
        .env_clear()
        .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .ok()
}

/// Where a group can be made whose limits come on top of those that hold already.
///
/// In version 1 that is below our own group. In version 2 a group with processes has no groups with controllers below
/// it, so it is beside our own, and only where our own group limits nothing: the worker must not escape from anything.
fn place(own: &Group) -> io::Result<PathBuf> {
    if own.version != 2 || hands_down_memory(&own.folder) {
        return Ok(own.folder.clone());
    }
    let parent = own.folder.parent().filter(|parent| parent.starts_with(&own.mount));
    let parent = parent.filter(|parent| hands_down_memory(parent)).ok_or_else(|| {
        io::Error::other(
            "neither this control group nor its parent delegates the memory controller",
        )
    })?;
    if is_limited(&own.folder) {
        let text = "this control group has limits, which a group beside it would escape";
        return Err(io::Error::other(text));
    }
    Ok(parent.to_owned())
}

/// Whether groups below this one can have a memory limit.
fn hands_down_memory(folder: &Path) -> bool {
    let controllers = fs::read_to_string(folder.join("cgroup.subtree_control"));
    controllers.is_ok_and(|text| text.split_whitespace().any(|name| name == "memory"))
}

fn is_limited(folder: &Path) -> bool {
    let says = |file: &str| fs::read_to_string(folder.join(file)).unwrap_or_default();
    let is_bound = |file: &str| {
        let text = says(file);
        !text.trim().is_empty() && !text.starts_with("max")
    };
    ["memory.max", "memory.high", "cpu.max", "cpuset.cpus"].into_iter().any(is_bound)
}

/// `oom_kill 2` among other lines, in both versions.
fn parse_kills(text: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix("oom_kill ")).and_then(|n| n.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A hierarchy of version 2 as files: what the kernel makes by itself is written by hand.
    fn tree(own_limit: &str, handed_down: &str) -> (tempfile::TempDir, Group) {
        let mount = tempfile::tempdir().unwrap();
        let folder = mount.path().join("user/shell");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("memory.max"), own_limit).unwrap();
        fs::write(folder.join("cgroup.subtree_control"), "").unwrap();
        fs::write(mount.path().join("user/cgroup.subtree_control"), handed_down).unwrap();
        let group = Group { version: 2, folder, mount: mount.path().to_owned() };
        (mount, group)
    }

    #[test]
    fn in_version_2_a_group_is_made_beside_our_own_unless_it_would_escape_a_limit() {
        let (mount, own) = tree("max\n", "cpu memory pids\n");
        assert_eq!(place(&own).unwrap(), mount.path().join("user"));
        let (_mount, held) = tree("1073741824\n", "memory\n");
        assert!(place(&held).unwrap_err().to_string().contains("escape"));
        let (_mount, alone) = tree("max\n", "cpu\n");
        assert!(place(&alone).unwrap_err().to_string().contains("delegates the memory controller"));
    }

    #[test]
    fn a_group_above_the_mount_is_nobodys_place() {
        let (mount, own) = tree("max\n", "memory\n");
        let at_the_top = Group { mount: own.folder.clone(), ..own };
        assert!(place(&at_the_top).is_err());
        drop(mount);
    }

    #[test]
    fn in_version_1_a_group_is_made_below_our_own() {
        let folder = PathBuf::from("/sys/fs/cgroup/memory/jobs/7");
        let mount = PathBuf::from("/sys/fs/cgroup/memory");
        let own = Group { version: 1, folder: folder.clone(), mount };
        assert_eq!(place(&own).unwrap(), folder);
    }

    #[test]
    fn kills_are_read_in_both_versions() {
        assert_eq!(parse_kills("oom_kill_disable 0\nunder_oom 0\noom_kill 3\n"), Some(3));
        assert_eq!(parse_kills("low 0\nmax 12\noom 1\noom_kill 1\n"), Some(1));
        assert_eq!(parse_kills("low 0\n"), None);
    }

    #[test]
    fn a_group_without_a_memory_controller_is_refused_and_not_left_behind() {
        let parent = tempfile::tempdir().unwrap();
        let error = MemoryGroup::make_in(parent.path(), 2, Bytes(1 << 30)).unwrap_err();
        assert!(error.to_string().contains("controller"), "{error}");
        assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 0);
    }
}
