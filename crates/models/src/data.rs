//! Real inputs from a file: an array (`.npy`), several by name (`.npz`, `.safetensors`).

use crate::{ModelError, folder::read_regular, npy};
use safetensors::{Dtype, SafeTensors};
use std::{
    io::{Cursor, Read},
    path::{Path, PathBuf},
};
use types::{Elements, HostTensor};
use zip::{ZipArchive, result::ZipError};

/// The most bytes that a file of inputs may have, and that a packed one may unpack to: they are held in memory, and
/// inputs of a batch are a thousand times smaller.
pub(crate) const LARGEST: u64 = 1 << 30;

/// What a file of inputs holds.
#[derive(Debug, Clone, PartialEq)]
pub struct Data {
    /// The arrays by the names that the file gives them; the only one of a `.npy` file has none.
    pub tensors: Vec<HostTensor>,
    /// A hash over the file.
    pub hash: String,
}

/// Reads a file of inputs; its ending says what it is.
///
/// # Errors
/// Where the file cannot be read, is of another kind or holds something else than plain numbers.
pub fn read_data(path: &Path) -> Result<Data, ModelError> {
    let wrong = |why: &str| ModelError::Array { path: path.to_owned(), why: why.to_owned() };
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    let read: fn(&Path, &[u8]) -> Result<Vec<HostTensor>, ModelError> = match ending {
        "npy" => |path, bytes| Ok(vec![npy::array(path, "", bytes)?]),
        "npz" => archive,
        "safetensors" => tensors,
        _ => return Err(wrong("it must end in `.npy`, `.npz` or `.safetensors`")),
    };
    let bytes = read_regular(path, LARGEST)
        .map_err(|source| ModelError::Read { path: path.to_owned(), source })?;
    let tensors = read(path, &bytes)?;
    if tensors.is_empty() {
        return Err(wrong("it is empty"));
    }
    Ok(Data { tensors, hash: blake3::hash(&bytes).to_hex()[..32].to_owned() })
}

/// A hash over the content of files, in their order.
///
/// # Errors
/// Where one cannot be read.
pub fn hash_contents(files: &[PathBuf]) -> Result<String, ModelError> {
    let mut hasher = blake3::Hasher::new();
    for path in files {
        let read = |source| ModelError::Read { path: path.to_owned(), source };
        let mut file = graph::open_regular(path).map_err(read)?;
        let length = file.metadata().map_err(read)?.len();
        hasher.update(&length.to_le_bytes());
        // A piece at a time, and no more than there was when it was opened.
        let mut piece = vec![0; 1 << 16];
        let mut rest = (&mut file).take(length);
        loop {
            match rest.read(&mut piece).map_err(read)? {
                0 => break,
                count => hasher.update(&piece[..count]),
            };
        }
    }
    Ok(hasher.finalize().to_hex()[..32].to_owned())
}

/// The arrays of a `.npz` file: a zip archive of `.npy` files.
fn archive(path: &Path, bytes: &[u8]) -> Result<Vec<HostTensor>, ModelError> {
    let wrong = |why: String| ModelError::Array { path: path.to_owned(), why };
    let broken = |error: ZipError| wrong(format!("it is not a whole `.npz` file: {error}"));
    let mut archive = ZipArchive::new(Cursor::new(bytes)).map_err(broken)?;
    let mut room = LARGEST;
    let mut tensors = Vec::new();
    for at in 0..archive.len() {
        let member = archive.by_index(at).map_err(broken)?;
        let name = member.name().map_err(broken)?;
        let name = name.strip_suffix(".npy").unwrap_or(&name).to_owned();
        let mut content = Vec::new();
        // One byte more than fits shows that it does not.
        member.take(room + 1).read_to_end(&mut content).map_err(|error| broken(error.into()))?;
        room = room
            .checked_sub(content.len() as u64)
            .ok_or_else(|| wrong(format!("it unpacks to more than {} GiB", LARGEST >> 30)))?;
        tensors.push(npy::array(path, &name, &content)?);
    }
    Ok(tensors)
}

fn tensors(path: &Path, bytes: &[u8]) -> Result<Vec<HostTensor>, ModelError> {
    let wrong = |why: String| ModelError::Array { path: path.to_owned(), why };
    let file = SafeTensors::deserialize(bytes).map_err(|error| wrong(error.to_string()))?;
    let tensor = |(name, view): (&str, safetensors::tensor::TensorView<'_>)| {
        let elements = elements(view.dtype(), view.data())
            .ok_or_else(|| wrong(format!("`{name}` holds {}", view.dtype())))?;
        Ok(HostTensor { name: name.to_owned(), dims: view.shape().to_vec(), elements })
    };
    file.iter().map(tensor).collect()
}

fn elements(dtype: Dtype, data: &[u8]) -> Option<Elements> {
    fn wide<const N: usize, T>(data: &[u8], read: impl Fn([u8; N]) -> T) -> Vec<T> {
        data.as_chunks::<N>().0.iter().map(|&chunk| read(chunk)).collect()
    }
    Some(match dtype {
        Dtype::BF16 => Elements::Bf16(wide(data, u16::from_le_bytes)),
        Dtype::F16 => return npy::elements("<f2", data),
        Dtype::F32 => return npy::elements("<f4", data),
        Dtype::F64 => return npy::elements("<f8", data),
        Dtype::I64 => return npy::elements("<i8", data),
        Dtype::I32 => return npy::elements("<i4", data),
        Dtype::I16 => return npy::elements("<i2", data),
        Dtype::I8 => return npy::elements("|i1", data),
        Dtype::U8 => return npy::elements("|u1", data),
        Dtype::BOOL => return npy::elements("|b1", data),
        _ => return None,
    })
}
