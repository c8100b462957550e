//! The columns of allocations in a file between two processes: safetensors, an `i64` an event in each column.

use crate::{ElementsView, EngineError, EngineErrorKind, OutputView, read_tensors, write_tensors};
use std::path::Path;
use types::{Allocations, Elements};

const COLUMNS: [&str; 5] = ["times", "blocks", "sizes", "layers", "threads"];

/// Writes the columns to a file; names and ends stay with the value.
///
/// # Errors
/// When the file cannot be written.
pub fn write_allocations(path: &Path, allocations: &Allocations) -> Result<(), EngineError> {
    let signed = |column: &[u64]| column.iter().map(|&value| value as i64).collect::<Vec<i64>>();
    let columns = [
        signed(&allocations.times),
        signed(&allocations.blocks),
        allocations.sizes.clone(),
        signed(&allocations.layers),
        signed(&allocations.threads),
    ];
    let views: Vec<OutputView<'_>> = COLUMNS
        .into_iter()
        .zip(&columns)
        .map(|(name, column)| OutputView {
            name,
            dims: vec![column.len()],
            elements: ElementsView::I64(column),
        })
        .collect();
    write_tensors(path, &views)
}

/// Fills in the columns from a file.
///
/// # Errors
/// When the file cannot be read or its columns do not fit together.
pub fn read_allocations(path: &Path, allocations: &mut Allocations) -> Result<(), EngineError> {
    let mut tensors = read_tensors(path)?;
    let damaged = || {
        let text = format!("the allocations in `{}` are damaged", path.display());
        EngineError::new(EngineErrorKind::Failed, text)
    };
    let mut column = |name: &str| {
        let at = tensors.iter().position(|tensor| tensor.name == name).ok_or_else(damaged)?;
        match tensors.swap_remove(at).elements {
            Elements::I64(values) => Ok(values),
            _ => Err(damaged()),
        }
    };
    let unsigned = |values: Vec<i64>| values.into_iter().map(|value| value as u64).collect();
    allocations.times = unsigned(column(COLUMNS[0])?);
    allocations.blocks = unsigned(column(COLUMNS[1])?);
    allocations.sizes = column(COLUMNS[2])?;
    allocations.layers = unsigned(column(COLUMNS[3])?);
    allocations.threads = unsigned(column(COLUMNS[4])?);
    if allocations.is_whole() { Ok(()) } else { Err(damaged()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::LayerName;

    fn sample() -> Allocations {
        Allocations {
            times: vec![1, 5, 9],
            blocks: vec![u64::MAX, 2, u64::MAX],
            sizes: vec![64, 32, -64],
            layers: vec![0, 1, 1],
            threads: vec![1, 2, 1],
            names: vec![LayerName::default(), LayerName { name: "a".into(), kind: "Add".into() }],
            ends: vec![3],
            dropped: 0,
        }
    }

    #[test]
    fn columns_survive_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("events");
        for mut written in [sample(), Allocations::default()] {
            write_allocations(&path, &written).unwrap();
            let whole = written.clone();
            written.times.clear();
            read_allocations(&path, &mut written).unwrap();
            assert_eq!(written, whole);
        }
    }

    #[test]
    fn columns_that_do_not_fit_together_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("events");
        let wrong: [fn(&mut Allocations); 3] =
            [|all| all.sizes.truncate(2), |all| all.layers[0] = 2, |all| all.ends = vec![4]];
        for change in wrong {
            let mut allocations = sample();
            change(&mut allocations);
            write_allocations(&path, &allocations).unwrap();
            let error = read_allocations(&path, &mut allocations).unwrap_err();
            assert!(error.to_string().contains("damaged"), "{error}");
        }
    }
}
