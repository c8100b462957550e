//! Named tensors in a file between two processes, in the safetensors format.

use crate::{ElementsView, EngineError, EngineErrorKind, OutputView};
use safetensors::{Dtype, SafeTensors, tensor::TensorView};
use std::{borrow::Cow, fs, path::Path};
use types::{Elements, HostTensor};

/// Writes tensors; the other side reads them by name.
///
/// # Errors
/// When the file cannot be written.
pub fn write_tensors(path: &Path, tensors: &[OutputView<'_>]) -> Result<(), EngineError> {
    let failed = |why: String| {
        EngineError::new(EngineErrorKind::Failed, format!("could not write `{}`", path.display()))
            .with_source(why)
    };
    let bytes: Vec<(Dtype, Cow<'_, [u8]>)> = tensors.iter().map(|t| bytes_of(t.elements)).collect();
    let mut views = Vec::with_capacity(tensors.len());
    for (tensor, (dtype, bytes)) in tensors.iter().zip(&bytes) {
        let view = TensorView::new(*dtype, tensor.dims.clone(), bytes);
        views.push((tensor.name, view.map_err(|error| failed(error.to_string()))?));
    }
    safetensors::serialize_to_file(views, None, path).map_err(|error| failed(error.to_string()))
}

/// Reads every tensor of a file.
///
/// # Errors
/// When the file cannot be read or holds something else than our element types.
pub fn read_tensors(path: &Path) -> Result<Vec<HostTensor>, EngineError> {
    let failed = |why: String| {
        EngineError::new(EngineErrorKind::BadInput, format!("could not read `{}`", path.display()))
            .with_source(why)
    };
    let bytes = fs::read(path).map_err(|error| failed(error.to_string()))?;
    let file = SafeTensors::deserialize(&bytes).map_err(|error| failed(error.to_string()))?;
    let mut tensors = Vec::with_capacity(file.len());
    for (name, view) in file.iter() {
        let elements = elements_of(view.dtype(), view.data())
            .ok_or_else(|| failed(format!("`{name}` holds {}", view.dtype())))?;
        tensors.push(HostTensor { name: name.to_owned(), dims: view.shape().to_vec(), elements });
    }
    Ok(tensors)
}

/// A host tensor as a view, to be written.
#[must_use]
pub fn view_of(tensor: &HostTensor) -> OutputView<'_> {
    let elements = match &tensor.elements {
        Elements::F32(v) => ElementsView::F32(v),
        Elements::F64(v) => ElementsView::F64(v),
        Elements::F16(v) => ElementsView::F16(v),
        Elements::Bf16(v) => ElementsView::Bf16(v),
        Elements::I64(v) => ElementsView::I64(v),
        Elements::I32(v) => ElementsView::I32(v),
        Elements::I16(v) => ElementsView::I16(v),
        Elements::I8(v) => ElementsView::I8(v),
        Elements::U8(v) => ElementsView::U8(v),
        Elements::Bool(v) => ElementsView::Bool(v),
    };
    OutputView { name: &tensor.name, dims: tensor.dims.clone(), elements }
}

fn bytes_of(elements: ElementsView<'_>) -> (Dtype, Cow<'_, [u8]>) {
    fn wide<const N: usize, T: Copy>(v: &[T], bytes: impl Fn(T) -> [u8; N]) -> Cow<'_, [u8]> {
        Cow::Owned(v.iter().flat_map(|&x| bytes(x)).collect())
    }
    match elements {
        ElementsView::F32(v) => (Dtype::F32, wide(v, f32::to_le_bytes)),
        ElementsView::F64(v) => (Dtype::F64, wide(v, f64::to_le_bytes)),
        ElementsView::F16(v) => (Dtype::F16, wide(v, u16::to_le_bytes)),
        ElementsView::Bf16(v) => (Dtype::BF16, wide(v, u16::to_le_bytes)),
        ElementsView::I64(v) => (Dtype::I64, wide(v, i64::to_le_bytes)),
        ElementsView::I32(v) => (Dtype::I32, wide(v, i32::to_le_bytes)),
        ElementsView::I16(v) => (Dtype::I16, wide(v, i16::to_le_bytes)),
        ElementsView::I8(v) => (Dtype::I8, wide(v, i8::to_le_bytes)),
        ElementsView::U8(v) => (Dtype::U8, Cow::Borrowed(v)),
        ElementsView::Bool(v) => (Dtype::BOOL, Cow::Borrowed(v)),
    }
}

fn elements_of(dtype: Dtype, bytes: &[u8]) -> Option<Elements> {
    fn wide<const N: usize, T>(bytes: &[u8], read: impl Fn([u8; N]) -> T) -> Vec<T> {
        bytes.as_chunks::<N>().0.iter().map(|&chunk| read(chunk)).collect()
    }
    Some(match dtype {
        Dtype::F32 => Elements::F32(wide(bytes, f32::from_le_bytes)),
        Dtype::F64 => Elements::F64(wide(bytes, f64::from_le_bytes)),
        Dtype::F16 => Elements::F16(wide(bytes, u16::from_le_bytes)),
        Dtype::BF16 => Elements::Bf16(wide(bytes, u16::from_le_bytes)),
        Dtype::I64 => Elements::I64(wide(bytes, i64::from_le_bytes)),
        Dtype::I32 => Elements::I32(wide(bytes, i32::from_le_bytes)),
        Dtype::I16 => Elements::I16(wide(bytes, i16::from_le_bytes)),
        Dtype::I8 => Elements::I8(wide(bytes, i8::from_le_bytes)),
        Dtype::U8 => Elements::U8(bytes.to_vec()),
        Dtype::BOOL => Elements::Bool(bytes.to_vec()),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tensors_of_every_type_survive_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.safetensors");
        let all = [
            Elements::F32(vec![1.5, -2.0]),
            Elements::F64(vec![0.1, 3.0]),
            Elements::F16(vec![0x3c00, 1]),
            Elements::Bf16(vec![0x3f80, 2]),
            Elements::I64(vec![i64::MIN, 5]),
            Elements::I32(vec![-7, 5]),
            Elements::I16(vec![-3, 5]),
            Elements::I8(vec![-1, 5]),
            Elements::U8(vec![200, 5]),
            Elements::Bool(vec![1, 0]),
        ];
        let tensors: Vec<HostTensor> = all
            .into_iter()
            .enumerate()
            .map(|(i, elements)| HostTensor { name: format!("t{i}"), dims: vec![2, 1], elements })
            .collect();
        let views: Vec<OutputView<'_>> = tensors.iter().map(view_of).collect();
        write_tensors(&path, &views).unwrap();
        let mut read = read_tensors(&path).unwrap();
        read.sort_by(|a, b| a.name.cmp(&b.name));
        assert_eq!(read, tensors);
    }

    #[test]
    fn a_file_that_is_none_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.safetensors");
        fs::write(&path, "hello").unwrap();
        assert!(read_tensors(&path).is_err());
        assert!(read_tensors(&folder.path().join("none")).is_err());
    }
}
