//! The host processor, from `/proc/cpuinfo` and the topology under `/sys`.

use crate::cpu_list::parse_cpu_list;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};
use types::{Bytes, Cpu};

/// The extensions that decide how fast inference runs; names as the kernel prints them.
const FEATURES: [&str; 24] = [
    "avx",
    "avx2",
    "fma",
    "f16c",
    "avx_vnni",
    "avx512f",
    "avx512bw",
    "avx512dq",
    "avx512vl",
    "avx512_vnni",
    "avx512_bf16",
    "avx512_fp16",
    "amx_tile",
    "amx_int8",
    "amx_bf16",
    "amx_fp16",
    "asimd",
    "asimdhp",
    "asimddp",
    "i8mm",
    "bf16",
    "sve",
    "sve2",
    "sme",
];

/// The processor of this machine; where the system tells less, the parts it does not tell are at their smallest.
pub(crate) fn processor(root: &Path) -> Cpu {
    let info = fs::read_to_string(root.join("proc/cpuinfo")).unwrap_or_default();
    let topology = Topology::read(root);
    let threads = match count_threads(&info) {
        0 => topology.siblings.len() as u32,
        counted => counted,
    };
    // Systems without /proc still know how many processors there are.
    let threads = match threads {
        0 => std::thread::available_parallelism().map_or(1, |count| count.get() as u32),
        counted => counted,
    };
    Cpu {
        model: model_name(&info),
        architecture: std::env::consts::ARCH.to_owned(),
        cores: topology.cores().or_else(|| cores_in_cpuinfo(&info)).unwrap_or(threads),
        threads,
        sockets: topology.sockets().unwrap_or(1),
        numa_nodes: count_numa_nodes(root),
        features: features(&info),
        cache: last_level_cache(root),
    }
}

/// Which processors share a core and a socket, by processor number.
pub(crate) struct Topology {
    /// Processor → the list of processors on its core.
    siblings: BTreeMap<u32, String>,
    /// Processor → its socket.
    sockets: BTreeMap<u32, i64>,
}

impl Topology {
    /// Reads `/sys/devices/system/cpu/cpu*/topology`.
    pub(crate) fn read(root: &Path) -> Topology {
        let mut topology = Topology { siblings: BTreeMap::new(), sockets: BTreeMap::new() };
        for number in numbered(&root.join("sys/devices/system/cpu"), "cpu") {
            let folder = root.join(format!("sys/devices/system/cpu/cpu{number}/topology"));
            if let Ok(list) = fs::read_to_string(folder.join("thread_siblings_list")) {
                topology.siblings.insert(number, list.trim().to_owned());
            }
            if let Some(socket) = fs::read_to_string(folder.join("physical_package_id"))
                .ok()
                .and_then(|text| text.trim().parse().ok())
            {
                topology.sockets.insert(number, socket);
            }
        }
        topology
    }

    /// Physical cores in the machine.
    fn cores(&self) -> Option<u32> {
        let cores = self.siblings.values().collect::<BTreeSet<_>>().len() as u32;
        (cores > 0).then_some(cores)
    }

    /// Physical cores that hold at least one of these processors.
    pub(crate) fn cores_among(&self, processors: &[u32]) -> Option<u32> {
        let lists = processors
            .iter()
            .filter_map(|number| self.siblings.get(number))
            .collect::<BTreeSet<_>>();
        (!lists.is_empty()).then_some(lists.len() as u32)
    }

    /// These processors, one of every core first, then their siblings.
    pub(crate) fn spread(&self, processors: &[u32]) -> Vec<u32> {
        let mut seen = BTreeSet::new();
        let is_first =
            |number: &u32| self.siblings.get(number).is_none_or(|core| seen.insert(core));
        let (mut first, rest): (Vec<u32>, Vec<u32>) =
            processors.iter().copied().partition(is_first);
        first.extend(rest);
        first
    }

    fn sockets(&self) -> Option<u32> {
        let sockets = self.sockets.values().collect::<BTreeSet<_>>().len() as u32;
        (sockets > 0).then_some(sockets)
    }
}

/// The numbers of the entries `name0`, `name1`, … of a folder.
fn numbered(folder: &Path, name: &str) -> Vec<u32> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut numbers: Vec<u32> = entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.strip_prefix(name)?.parse().ok())
        .collect();
    numbers.sort_unstable();
    numbers
}

/// The first value of a key in `/proc/cpuinfo`.
fn field<'a>(info: &'a str, key: &str) -> Option<&'a str> {
    info.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        (name.trim() == key).then(|| value.trim())
    })
}

fn count_threads(info: &str) -> u32 {
    info.lines()
        .filter(|line| line.split_once(':').is_some_and(|(name, _)| name.trim() == "processor"))
        .count() as u32
}

/// Distinct pairs of socket and core, as x86 kernels print them.
fn cores_in_cpuinfo(info: &str) -> Option<u32> {
    let mut cores = BTreeSet::new();
    for block in info.split("\n\n") {
        if let Some(core) = field(block, "core id") {
            cores.insert((field(block, "physical id").unwrap_or("0"), core));
        }
    }
    (!cores.is_empty()).then_some(cores.len() as u32)
}

fn model_name(info: &str) -> String {
    if let Some(name) = field(info, "model name").or_else(|| field(info, "Model")) {
        return name.to_owned();
    }
    match (field(info, "CPU implementer"), field(info, "CPU part")) {
        (Some(implementer), Some(part)) => {
            format!("{} implementer {implementer} part {part}", std::env::consts::ARCH)
        }
        _ => format!("unknown {} processor", std::env::consts::ARCH),
    }
}

fn features(info: &str) -> Vec<String> {
    let flags: BTreeSet<&str> = field(info, "flags")
        .or_else(|| field(info, "Features"))
        .unwrap_or_default()
        .split_whitespace()
        .collect();
    FEATURES.iter().filter(|name| flags.contains(**name)).map(|name| (*name).to_owned()).collect()
}

fn count_numa_nodes(root: &Path) -> u32 {
    (numbered(&root.join("sys/devices/system/node"), "node").len() as u32).max(1)
}

/// The bytes of all last-level caches together: what an array must exceed so that no cache can hold it.
pub(crate) fn last_level_cache(root: &Path) -> Option<Bytes> {
    let levels = cache_levels(root, None);
    levels.last().map(|level| Bytes(level.size.0 * u64::from(level.instances)))
}

/// One level of caches for data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CacheLevel {
    /// 1 is next to the core.
    pub(crate) level: u32,
    /// The mean size of one such cache; they differ where cores do.
    pub(crate) size: Bytes,
    /// How many there are.
    pub(crate) instances: u32,
}

/// The caches for data, level 1 first; only those that one of these processors uses, where some are named.
pub(crate) fn cache_levels(root: &Path, among: Option<&[u32]>) -> Vec<CacheLevel> {
    // Keyed by who shares it, so that a cache of eight cores is counted once.
    let mut caches: BTreeMap<u32, BTreeMap<Vec<u32>, u64>> = BTreeMap::new();
    let processors = numbered(&root.join("sys/devices/system/cpu"), "cpu");
    for number in processors.into_iter().filter(|n| among.is_none_or(|among| among.contains(n))) {
        let folder = root.join(format!("sys/devices/system/cpu/cpu{number}/cache"));
        for index in numbered(&folder, "index") {
            let read = |name: &str| fs::read_to_string(folder.join(format!("index{index}/{name}")));
            let (Ok(kind), Ok(depth), Ok(size)) = (read("type"), read("level"), read("size"))
            else {
                continue;
            };
            let (Ok(depth), Some(size)) = (depth.trim().parse::<u32>(), parse_size(&size)) else {
                continue;
            };
            if kind.trim() == "Instruction" {
                continue;
            }
            let sharers =
                read("shared_cpu_list").map_or(vec![number], |list| parse_cpu_list(&list));
            caches.entry(depth).or_default().insert(sharers, size);
        }
    }
    let level = |(level, caches): (u32, BTreeMap<Vec<u32>, u64>)| {
        let instances = caches.len() as u32;
        let size = Bytes(caches.values().sum::<u64>() / u64::from(instances.max(1)));
        CacheLevel { level, size, instances }
    };
    caches.into_iter().map(level).collect()
}

/// `36608K`, `32M` or `512` in bytes.
fn parse_size(text: &str) -> Option<u64> {
    let text = text.trim();
    let (digits, factor) = match text.strip_suffix('K') {
        Some(digits) => (digits, 1024),
        None => match text.strip_suffix('M') {
            Some(digits) => (digits, 1024 * 1024),
            None => (text, 1),
        },
    };
    digits.parse::<u64>().ok()?.checked_mul(factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    const XEON: &str = "processor\t: 0\nvendor_id\t: GenuineIntel\nmodel name\t: Intel(R) Xeon(R) Processor @ 2.50GHz\n\
        cpu MHz\t\t: 2499.998\nphysical id\t: 0\ncore id\t\t: 0\nflags\t\t: fpu fma avx avx2 avx512f avx512_vnni hypervisor\n\n\
        processor\t: 1\nmodel name\t: Intel(R) Xeon(R) Processor @ 2.50GHz\nphysical id\t: 0\ncore id\t\t: 0\n\n\
        processor\t: 2\nphysical id\t: 1\ncore id\t\t: 0\n";
    const GRAVITON: &str = "processor\t: 0\nBogoMIPS\t: 243.75\nFeatures\t: fp asimd asimdhp asimddp\n\
        CPU implementer\t: 0x41\nCPU part\t: 0xd0c\n";

    #[test]
    fn cpuinfo_of_x86_gives_name_cores_and_vector_units() {
        assert_eq!(model_name(XEON), "Intel(R) Xeon(R) Processor @ 2.50GHz");
        assert_eq!(count_threads(XEON), 3);
        assert_eq!(cores_in_cpuinfo(XEON), Some(2));
        assert_eq!(features(XEON), ["avx", "avx2", "fma", "avx512f", "avx512_vnni"]);
    }

    #[test]
    fn cpuinfo_of_arm_gives_its_part_number() {
        assert!(model_name(GRAVITON).ends_with("implementer 0x41 part 0xd0c"));
        assert_eq!(features(GRAVITON), ["asimd", "asimdhp", "asimddp"]);
        assert_eq!(cores_in_cpuinfo(GRAVITON), None);
    }

    fn write(root: &Path, path: &str, text: &str) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Two sockets, two cores each, two threads a core, one shared cache a socket.
    fn eight_threads(root: &Path) {
        for cpu in 0..8u32 {
            let core = cpu % 4;
            let folder = format!("sys/devices/system/cpu/cpu{cpu}");
            write(
                root,
                &format!("{folder}/topology/thread_siblings_list"),
                &format!("{core},{}\n", core + 4),
            );
            write(
                root,
                &format!("{folder}/topology/physical_package_id"),
                &format!("{}\n", core / 2),
            );
            write(root, &format!("{folder}/cache/index0/type"), "Data\n");
            write(root, &format!("{folder}/cache/index0/level"), "1\n");
            write(root, &format!("{folder}/cache/index0/size"), "32K\n");
            write(root, &format!("{folder}/cache/index3/type"), "Unified\n");
            write(root, &format!("{folder}/cache/index3/level"), "3\n");
            write(root, &format!("{folder}/cache/index3/size"), "32M\n");
            let shared = if core < 2 { "0-1,4-5" } else { "2-3,6-7" };
            write(root, &format!("{folder}/cache/index3/shared_cpu_list"), shared);
        }
        write(root, "sys/devices/system/node/node0/cpulist", "0-7");
        write(root, "sys/devices/system/node/node1/cpulist", "");
    }

    #[test]
    fn threads_of_one_core_are_one_core_and_a_shared_cache_counts_once() {
        let folder = tempfile::tempdir().unwrap();
        eight_threads(folder.path());
        let cpu = processor(folder.path());
        assert_eq!((cpu.threads, cpu.cores, cpu.sockets, cpu.numa_nodes), (8, 4, 2, 2));
        assert_eq!(cpu.cache, Some(Bytes(64 << 20)));
        let (first, last) = (Bytes(32 << 10), Bytes(32 << 20));
        let level = |level, size, instances| CacheLevel { level, size, instances };
        assert_eq!(cache_levels(folder.path(), None), [level(1, first, 8), level(3, last, 2)]);
        let socket = cache_levels(folder.path(), Some(&[0, 1]));
        assert_eq!(socket, [level(1, first, 2), level(3, last, 1)]);
        let topology = Topology::read(folder.path());
        assert_eq!(topology.cores_among(&[0, 4, 1]), Some(2));
        assert_eq!(topology.cores_among(&[99]), None);
        assert_eq!(topology.spread(&[0, 1, 4, 5]), [0, 1, 4, 5]);
    }

    #[test]
    fn sizes_carry_their_letter() {
        assert_eq!(parse_size("36608K\n"), Some(36608 * 1024));
        assert_eq!(parse_size("32M"), Some(32 << 20));
        assert_eq!(parse_size("x"), None);
    }
}
