//! Control groups, version 1 and 2: where a process's group lies and what it allows.

use std::{
    fs,
    path::{Path, PathBuf},
};
use types::{Bytes, CgroupLimits};

/// Version 1 writes "no limit" as the largest number of whole pages; nobody has an exbibyte of memory.
const NO_MEMORY_LIMIT: u64 = 1 << 60;

/// The group that one controller (`cpu`, `memory`) uses for a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// 1 or 2.
    pub version: u8,
    /// The group's folder.
    pub folder: PathBuf,
    /// Where the hierarchy is mounted; the limits of every folder up to this one hold.
    pub mount: PathBuf,
}

/// The group of a process for one controller; `None` if there are no control groups or the group cannot be reached.
#[must_use]
pub fn group(pid: u32, controller: &str) -> Option<Group> {
    let membership = fs::read_to_string(format!("/proc/{pid}/cgroup")).ok()?;
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    locate(&membership, &mounts, controller)
}

/// What the control groups of a process allow: the tightest limit between its group and the top.
#[must_use]
pub fn limits(pid: u32) -> CgroupLimits {
    let cpu = group(pid, "cpu");
    let memory = group(pid, "memory");
    let cpuset = fs::read_to_string(format!("/proc/{pid}/status")).ok().and_then(|status| {
        let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
        Some(list.trim().to_owned())
    });
    CgroupLimits {
        version: cpu.as_ref().or(memory.as_ref()).map(|group| group.version),
        cpus: cpu.as_ref().and_then(Group::cpus),
        memory: memory.as_ref().and_then(Group::memory),
        cpuset,
    }
}

impl Group {
    /// This folder and those above it, up to where the hierarchy is mounted.
    fn lineage(&self) -> impl Iterator<Item = &Path> {
        self.folder.ancestors().take_while(|folder| folder.starts_with(&self.mount))
    }

    /// Processors' worth of time: quota ÷ period, the tightest on the way up.
    #[must_use]
    pub fn cpus(&self) -> Option<f64> {
        let limit = |folder: &Path| match self.version {
            2 => parse_cpu_max(&fs::read_to_string(folder.join("cpu.max")).ok()?),
            _ => {
                let quota = fs::read_to_string(folder.join("cpu.cfs_quota_us")).ok()?;
                let period = fs::read_to_string(folder.join("cpu.cfs_period_us")).ok()?;
                quotient(&quota, &period)
            }
        };
        self.lineage().filter_map(limit).min_by(f64::total_cmp)
    }

    /// The memory limit, the tightest on the way up.
    #[must_use]
    pub fn memory(&self) -> Option<Bytes> {
        let file = if self.version == 2 { "memory.max" } else { "memory.limit_in_bytes" };
        self.lineage()
            .filter_map(|folder| parse_memory_limit(&fs::read_to_string(folder.join(file)).ok()?))
            .min()
    }
}

/// `max 100000` is no limit, `150000 100000` is one and a half processors.
fn parse_cpu_max(text: &str) -> Option<f64> {
    let (quota, period) = text.trim().split_once(' ')?;
    quotient(quota, period)
}

/// Version 1 writes "no limit" as a quota of -1.
fn quotient(quota: &str, period: &str) -> Option<f64> {
    let quota = quota.trim().parse::<f64>().ok().filter(|quota| *quota > 0.0)?;
    let period = period.trim().parse::<f64>().ok().filter(|period| *period > 0.0)?;
    Some(quota / period)
}

fn parse_memory_limit(text: &str) -> Option<Bytes> {
    text.trim().parse::<u64>().ok().filter(|bytes| *bytes < NO_MEMORY_LIMIT).map(Bytes)
}

/// One mounted hierarchy.
struct Mount<'a> {
    /// The part of the hierarchy that is seen at `point`.
    root: &'a str,
    point: &'a str,
    version: u8,
    /// For version 1: `cpu,cpuacct`, among other options.
    options: &'a str,
}

fn parse_mount(line: &str) -> Option<Mount<'_>> {
    let (before, after) = line.split_once(" - ")?;
    let mut before = before.split(' ').skip(3);
    let (root, point) = (before.next()?, before.next()?);
    let mut after = after.split(' ');
    let version = match after.next()? {
        "cgroup" => 1,
        "cgroup2" => 2,
        _ => return None,
    };
    Some(Mount { root, point, version, options: after.nth(1).unwrap_or_default() })
}

/// Finds a controller's group from `/proc/PID/cgroup` and `/proc/self/mountinfo`.
///
/// Both versions may be mounted at once; a controller belongs to exactly one, and version 1 names those it has.
fn locate(membership: &str, mounts: &str, controller: &str) -> Option<Group> {
    let mut unified = None;
    let mut legacy = None;
    for line in membership.lines() {
        let mut parts = line.splitn(3, ':');
        let (_, Some(controllers), Some(path)) = (parts.next(), parts.next(), parts.next()) else {
            continue;
        };
        if controllers.is_empty() {
            unified = Some(path);
        } else if controllers.split(',').any(|name| name == controller) {
            legacy = Some(path);
        }
    }
    let (version, path) = legacy.map(|path| (1, path)).or(unified.map(|path| (2, path)))?;
    if path.starts_with("/..") {
        // The group lies outside our namespace; its files are not visible here.
        return None;
    }
    let mount = mounts.lines().filter_map(parse_mount).find(|mount| {
        mount.version == version
            && (version == 2 || mount.options.split(',').any(|option| option == controller))
    })?;
    // A container often sees only its own part of the hierarchy, while the path is told from the very top.
    let below = path.strip_prefix(mount.root.trim_end_matches('/')).unwrap_or("");
    let point = PathBuf::from(mount.point);
    let folder = match below.trim_matches('/') {
        "" => point.clone(),
        relative => point.join(relative),
    };
    Some(Group { version, folder, mount: point })
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOTH_MOUNTS: &str = "\
30 24 0:26 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
31 30 0:27 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu
34 30 0:30 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
40 30 0:36 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
";
    const BOTH: &str = "4:memory:/jobs/24b4\n2:cpuacct:/\n1:cpu:/\n0::/\n";

    #[test]
    fn version_1_wins_for_the_controllers_it_names() {
        let memory = locate(BOTH, BOTH_MOUNTS, "memory").unwrap();
        assert_eq!(memory.version, 1);
        assert_eq!(memory.folder, Path::new("/sys/fs/cgroup/memory/jobs/24b4"));
        let cpu = locate(BOTH, BOTH_MOUNTS, "cpu").unwrap();
        assert_eq!((cpu.version, cpu.folder.as_path()), (1, Path::new("/sys/fs/cgroup/cpu")));
    }

    #[test]
    fn version_2_serves_every_controller() {
        let mounts =
            "29 23 0:25 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n";
        let group = locate("0::/user.slice/session-3.scope\n", mounts, "cpu").unwrap();
        assert_eq!(group.version, 2);
        assert_eq!(group.folder, Path::new("/sys/fs/cgroup/user.slice/session-3.scope"));
    }

    #[test]
    fn a_container_that_sees_only_its_own_part_finds_itself_at_the_mount() {
        let mounts = "700 690 0:31 /docker/abc /sys/fs/cgroup/memory ro,nosuid master:15 - cgroup cgroup rw,memory\n";
        let group = locate("9:memory:/docker/abc\n", mounts, "memory").unwrap();
        assert_eq!(group.folder, Path::new("/sys/fs/cgroup/memory"));
        assert_eq!(locate("0::/../outside\n", mounts, "memory"), None);
    }

    #[test]
    fn limits_are_read_in_both_notations() {
        assert_eq!(parse_cpu_max("max 100000\n"), None);
        assert_eq!(parse_cpu_max("150000 100000\n"), Some(1.5));
        assert_eq!(quotient("-1\n", "100000\n"), None);
        assert_eq!(parse_memory_limit("max\n"), None);
        assert_eq!(parse_memory_limit("9223372036854771712\n"), None);
        assert_eq!(parse_memory_limit("1073741824\n"), Some(Bytes(1 << 30)));
    }

    #[test]
    fn the_tightest_limit_on_the_way_up_holds() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("outer/inner");
        fs::create_dir_all(&inner).unwrap();
        fs::write(inner.join("cpu.max"), "max 100000\n").unwrap();
        fs::write(folder.path().join("outer/cpu.max"), "200000 100000\n").unwrap();
        fs::write(inner.join("memory.max"), "4096\n").unwrap();
        fs::write(folder.path().join("outer/memory.max"), "8192\n").unwrap();
        let group = Group { version: 2, folder: inner, mount: folder.path().to_owned() };
        assert_eq!(group.cpus(), Some(2.0));
        assert_eq!(group.memory(), Some(Bytes(4096)));
    }
}
