//! OpenVINO's versions: `2026.4.1`, `2026.4.1-22982-…`, and `2641` at the end of a library's name.

use std::{fs, path::Path};

/// The first release whose C interface has the numbers of element types that we use.
pub(crate) const OLDEST: [u32; 2] = [2025, 1];

/// The numbers of a version: year, release, patch.
pub(crate) fn numbers(version: &str) -> Vec<u32> {
    let plain = version.split('-').next().unwrap_or_default();
    plain.split('.').map_while(|part| part.parse().ok()).collect()
}

/// Whether a version is too old for us; one that cannot be read is not.
pub(crate) fn is_too_old(version: &str) -> bool {
    let numbers = numbers(version);
    numbers.len() >= 2 && numbers[..2] < OLDEST[..]
}

/// The version of a library: from the package it lies in, otherwise from its own name.
pub(crate) fn of_library(library: &Path) -> Option<String> {
    of_package(library).or_else(|| of_file_name(library)).or_else(|| {
        // `libopenvino_c.so` is a link to the file with the whole name.
        of_file_name(&fs::canonicalize(library).ok()?)
    })
}

/// `site-packages/openvino/libs/libopenvino_c.so.2641` has `site-packages/openvino-2026.4.1.dist-info` beside it.
fn of_package(library: &Path) -> Option<String> {
    let libs = library.parent()?;
    let package = libs.parent()?;
    if libs.file_name()? != "libs" || package.file_name()? != "openvino" {
        return None;
    }
    let entries = fs::read_dir(package.parent()?).ok()?;
    let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    names
        .filter_map(|name| {
            Some(name.strip_prefix("openvino-")?.strip_suffix(".dist-info")?.to_owned())
        })
        .max_by_key(|version| numbers(version))
}

fn of_file_name(library: &Path) -> Option<String> {
    let name = library.file_name()?.to_str()?;
    let (_, suffix) = match name.strip_suffix(".dylib") {
        Some(stem) => stem.split_once("libopenvino_c.")?,
        None => name.split_once(".so.")?,
    };
    if suffix.contains('.') {
        return (!numbers(suffix).is_empty()).then(|| suffix.to_owned());
    }
    // Two digits of the year, one of the release, one of the patch.
    match suffix.as_bytes() {
        &[a, b, release, patch] if suffix.bytes().all(|c| c.is_ascii_digit()) => Some(format!(
            "20{}{}.{}.{}",
            char::from(a),
            char::from(b),
            char::from(release),
            char::from(patch)
        )),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_read_from_the_name_of_a_library() {
        let version = |name: &str| of_file_name(Path::new(name));
        assert_eq!(version("libopenvino_c.so.2641").as_deref(), Some("2026.4.1"));
        assert_eq!(version("libopenvino_c.so.2025.1.0").as_deref(), Some("2025.1.0"));
        assert_eq!(version("libopenvino_c.2641.dylib").as_deref(), Some("2026.4.1"));
        assert_eq!(version("libopenvino_c.so"), None);
        assert_eq!(version("libopenvino_c.so.x"), None);
    }

    #[test]
    fn old_versions_are_told_from_new_ones() {
        assert!(is_too_old("2024.6.0-17404-4c0f47d2335"));
        assert!(is_too_old("2025.0.0"));
        assert!(!is_too_old("2025.1.0"));
        assert!(!is_too_old("2026.4.1"));
        assert!(!is_too_old("custom"));
    }
}
