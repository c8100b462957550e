//! Modules that differ only in their numbers, as one row: `encoder.layer.*.attention`.

use types::GpuPart;

/// Parts of one kind.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Group {
    pub(super) path: String,
    /// How many parts it stands for.
    pub(super) parts: usize,
    pub(super) kernels: u64,
    pub(super) time: f64,
}

/// Parts by their path with `*` for its numbers, the most time first.
pub(super) fn groups(parts: &[GpuPart]) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for part in parts.iter().filter(|part| part.kernels > 0) {
        let path = pattern(&part.path);
        match groups.iter_mut().find(|group| group.path == path) {
            Some(group) => {
                group.parts += 1;
                group.kernels += part.kernels;
                group.time += part.time;
            }
            None => groups.push(Group { path, parts: 1, kernels: part.kernels, time: part.time }),
        }
    }
    groups.sort_by(|a, b| b.time.total_cmp(&a.time).then_with(|| a.path.cmp(&b.path)));
    // A group of one needs no star.
    for group in groups.iter_mut().filter(|group| group.parts == 1) {
        if let Some(part) = parts.iter().find(|part| pattern(&part.path) == group.path) {
            group.path.clone_from(&part.path);
        }
    }
    groups
}

fn pattern(path: &str) -> String {
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let parts: Vec<&str> =
        path.split('.').map(|part| if is_number(part) { "*" } else { part }).collect();
    parts.join(".")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(path: &str, time: f64) -> GpuPart {
        GpuPart { path: path.into(), kernels: 2, time, total: time, calls: 1, host: None }
    }

    #[test]
    fn layers_of_one_kind_are_one_row() {
        let parts = [part("layer.0.lin", 1.0), part("layer.1.lin", 2.0), part("embeddings.3", 2.5)];
        let groups = groups(&parts);
        let rows: Vec<(&str, usize, u64, f64)> = groups
            .iter()
            .map(|one| (one.path.as_str(), one.parts, one.kernels, one.time))
            .collect();
        assert_eq!(rows, [("layer.*.lin", 2, 4, 3.0), ("embeddings.3", 1, 2, 2.5)]);
    }
}
