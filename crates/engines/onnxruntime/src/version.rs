//! Versions as far as they matter here: to compare them and to read them off a file's name.

/// The oldest library whose interface we can use; what `ort` asks for without an `api-…` feature.
pub(crate) const OLDEST: [u32; 2] = [1, ort::MINOR_VERSION];

/// The numbers of a version, to compare; `1.20.0-dev` counts as `1.20.0`.
pub(crate) fn numbers(text: &str) -> Vec<u32> {
    let number = |part: &str| {
        let digits: String = part.chars().take_while(char::is_ascii_digit).collect();
        digits.parse::<u32>().ok()
    };
    text.split('.').map_while(number).collect()
}

/// Whether we can use a library of this version.
pub(crate) fn is_new_enough(text: &str) -> bool {
    numbers(text).as_slice() >= OLDEST.as_slice()
}

/// Whether a file's name is that of the library itself, not of a provider.
pub(crate) fn is_library_name(name: &str) -> bool {
    matches!(name, "libonnxruntime.so" | "libonnxruntime.dylib" | "onnxruntime.dll")
        || of_name(name).is_some()
}

/// The version in a file's name: `libonnxruntime.so.1.31.1`, `libonnxruntime.1.31.1.dylib`.
pub(crate) fn of_name(name: &str) -> Option<&str> {
    let version = match name.strip_prefix("libonnxruntime.so.") {
        Some(version) => version,
        None => name.strip_prefix("libonnxruntime.")?.strip_suffix(".dylib")?,
    };
    version.starts_with(|c: char| c.is_ascii_digit()).then_some(version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_compare_by_number() {
        assert!(numbers("1.9.0") < numbers("1.31.1"));
        assert!(numbers("1.31") < numbers("1.31.1"));
        assert_eq!(numbers("1.20.0-dev+cuda"), [1, 20, 0]);
        assert!(is_new_enough("1.17.0") && is_new_enough("1.31.1") && !is_new_enough("1.16.3"));
    }

    #[test]
    fn the_library_is_told_from_its_providers() {
        assert_eq!(of_name("libonnxruntime.so.1.31.1"), Some("1.31.1"));
        assert_eq!(of_name("libonnxruntime.1.31.1.dylib"), Some("1.31.1"));
        assert_eq!(of_name("libonnxruntime.so.1"), Some("1"));
        assert!(is_library_name("libonnxruntime.so"));
        for other in ["libonnxruntime_providers_cuda.so", "libonnxruntime.so.old", "libonnx.so.1"] {
            assert!(!is_library_name(other), "{other}");
        }
    }
}
