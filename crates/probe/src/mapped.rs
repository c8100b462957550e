//! How much of a process's memory is a folder's files, mapped: what the system counts and no allocator does.

use std::path::Path;
use types::Bytes;

/// Resident bytes of a process that are mapped from files in this folder; `None` if the system does not tell.
#[must_use]
pub fn mapped_from(pid: u32, folder: &Path) -> Option<Bytes> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/smaps")).ok()?;
    let folder = std::fs::canonicalize(folder).ok()?;
    Some(Bytes(resident_in(&text, &folder)))
}

/// What is resident of a process that no file holds; `None` if the system does not tell.
#[must_use]
pub fn anonymous(pid: u32) -> Option<Bytes> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("RssAnon:"))?;
    let kilobytes: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(Bytes(kilobytes * 1024))
}

/// Sums the resident parts of the mappings whose file lies in the folder.
fn resident_in(smaps: &str, folder: &Path) -> u64 {
    let mut is_ours = false;
    let mut kilobytes = 0;
    for line in smaps.lines() {
        // `7f3c-7f3d r--p 00000000 fe:00 123   /models/model.onnx`, then one counter a line: `Rss:   12 kB`.
        let mut words = line.split_whitespace();
        let first = words.next().unwrap_or_default();
        if !first.ends_with(':') {
            let path = line.splitn(6, ' ').nth(5).map(str::trim).unwrap_or_default();
            is_ours = Path::new(path).parent() == Some(folder);
        } else if is_ours && first == "Rss:" {
            kilobytes += words.next().and_then(|number| number.parse::<u64>().ok()).unwrap_or(0);
        }
    }
    kilobytes * 1024
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_mappings_of_the_folders_files_are_counted() {
        let text = "\
7f00-7f10 r--p 00000000 fe:00 12                         /models/a b/model.onnx
Size:                 64 kB
Rss:                  40 kB
7f10-7f20 rw-p 00000000 00:00 0 
Rss:                1000 kB
7f20-7f30 r--p 00000000 fe:00 13                         /models/a b/model.onnx.data
Rss:                   2 kB
7f30-7f40 r--p 00000000 fe:00 14                         /usr/lib/libc.so
Rss:                 500 kB
7f40-7f50 rw-p 00000000 00:00 0                          [heap]
Rss:                   7 kB
";
        assert_eq!(resident_in(text, Path::new("/models/a b")), 42 * 1024);
        assert_eq!(resident_in(text, Path::new("/models")), 0);
    }
}
