//! The kernel's notation for sets of processors: `0-3,8,10-11`.

/// The processors that a list such as `0-3,8` names; what cannot be read is left out.
#[must_use]
pub fn parse_cpu_list(text: &str) -> Vec<u32> {
    let mut processors = Vec::new();
    for part in text.trim().split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        if let (Ok(first), Ok(last)) = (first.trim().parse::<u32>(), last.trim().parse::<u32>()) {
            processors.extend(first..=last);
        }
    }
    processors
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_and_single_processors_are_read() {
        assert_eq!(parse_cpu_list("0-2,8,10-11\n"), [0, 1, 2, 8, 10, 11]);
        assert_eq!(parse_cpu_list("5"), [5]);
        assert!(parse_cpu_list("\n").is_empty());
    }
}
