//! Arrays in NumPy's `.npy` format, and values made to fit an input.

use crate::{ModelError, data::LARGEST, folder::read_regular};
use std::path::Path;
use types::{ElementType, Elements, HostTensor, InputSpec};

/// Reads an array under the name of an input, and a hash over the file.
///
/// # Errors
/// Where the file cannot be read or holds no array of plain numbers.
pub fn read_npy(path: &Path, name: &str) -> Result<(HostTensor, String), ModelError> {
    let bytes = read_regular(path, LARGEST)
        .map_err(|source| ModelError::Read { path: path.to_owned(), source })?;
    let hash = blake3::hash(&bytes).to_hex()[..32].to_owned();
    Ok((array(path, name, &bytes)?, hash))
}

/// The array that the bytes of a `.npy` file hold.
pub(crate) fn array(path: &Path, name: &str, bytes: &[u8]) -> Result<HostTensor, ModelError> {
    let wrong = |why: &str| ModelError::Array { path: path.to_owned(), why: why.to_owned() };
    let rest =
        bytes.strip_prefix(b"\x93NUMPY").ok_or_else(|| wrong("it is not a NumPy `.npy` file"))?;
    // Version 1 counts the header in two bytes, later ones in four.
    let (length, from) = match rest {
        [1, _, a, b, ..] => (usize::from(u16::from_le_bytes([*a, *b])), 4),
        [_, _, a, b, c, d, ..] => (u32::from_le_bytes([*a, *b, *c, *d]) as usize, 6),
        _ => return Err(wrong("it ends before its header")),
    };
    let header = rest.get(from..from + length).ok_or_else(|| wrong("it ends in its header"))?;
    let header = String::from_utf8_lossy(header);
    let data = &rest[from + length..];
    if value_of(&header, "fortran_order") != Some("False") {
        return Err(wrong("it is in Fortran order; save it with `numpy.ascontiguousarray`"));
    }
    let shape = value_of(&header, "shape").ok_or_else(|| wrong("its header has no shape"))?;
    let dims = shape
        .trim_matches(['(', ')'])
        .split(',')
        .map(str::trim)
        .filter(|size| !size.is_empty())
        .map(|size| size.parse().map_err(|_| wrong("its header has no shape")))
        .collect::<Result<Vec<usize>, _>>()?;
    let descr = value_of(&header, "descr").unwrap_or_default().trim_matches(['\'', '"']);
    let elements = elements(descr, data)
        .ok_or_else(|| wrong(&format!("it holds `{descr}`, which no input takes")))?;
    let count = dims.iter().try_fold(1_usize, |count, &size| count.checked_mul(size));
    if count != Some(elements.len()) {
        return Err(wrong("it holds fewer or more numbers than its shape says"));
    }
    Ok(HostTensor { name: name.to_owned(), dims, elements })
}

/// The text of a value in the header, which is a Python dictionary.
fn value_of<'a>(header: &'a str, key: &str) -> Option<&'a str> {
    let (_, rest) = header.split_once(&format!("'{key}':"))?;
    let rest = rest.trim_start();
    let end = match rest.starts_with('(') {
        true => rest.find(')')? + 1,
        false => rest.find([',', '}'])?,
    };
    Some(rest[..end].trim())
}

pub(crate) fn elements(descr: &str, data: &[u8]) -> Option<Elements> {
    fn wide<const N: usize, T>(data: &[u8], read: impl Fn([u8; N]) -> T) -> Vec<T> {
        data.as_chunks::<N>().0.iter().map(|&chunk| read(chunk)).collect()
    }
    Some(match descr {
        "<f4" => Elements::F32(wide(data, f32::from_le_bytes)),
        "<f8" => Elements::F64(wide(data, f64::from_le_bytes)),
        "<f2" => Elements::F16(wide(data, u16::from_le_bytes)),
        "<i8" => Elements::I64(wide(data, i64::from_le_bytes)),
        "<i4" => Elements::I32(wide(data, i32::from_le_bytes)),
        "<i2" => Elements::I16(wide(data, i16::from_le_bytes)),
        "|i1" => Elements::I8(wide(data, i8::from_le_bytes)),
        "|u1" => Elements::U8(data.to_vec()),
        "|b1" => Elements::Bool(data.to_vec()),
        _ => return None,
    })
}

/// Values in the element type that an input takes.
///
/// # Errors
/// Where shape or values do not fit: an input of whole numbers takes no fractions.
pub fn convert_values(tensor: &HostTensor, spec: &InputSpec) -> Result<HostTensor, ModelError> {
    if tensor.elements.element_type() == spec.dtype {
        return Ok(tensor.clone());
    }
    let values = &tensor.elements;
    // One after the other: as a list they would take up to eight times the bytes of the file.
    let numbers = || (0..values.len()).map(|place| number(values, place));
    let fits = |low: f64, high: f64| {
        let outside = numbers().find(|value| value.fract() != 0.0 || *value < low || *value > high);
        match outside {
            Some(value) => Err(ModelError::Value { input: spec.name.clone(), value }),
            None => Ok(()),
        }
    };
    let elements = match spec.dtype {
        ElementType::F32 => Elements::F32(numbers().map(|x| x as f32).collect()),
        ElementType::F64 => Elements::F64(numbers().collect()),
        ElementType::F16 => {
            Elements::F16(numbers().map(|x| half::f16::from_f64(x).to_bits()).collect())
        }
        ElementType::Bf16 => {
            Elements::Bf16(numbers().map(|x| half::bf16::from_f64(x).to_bits()).collect())
        }
        ElementType::I64 => {
            fits(-9e15, 9e15)?;
            Elements::I64(numbers().map(|x| x as i64).collect())
        }
        ElementType::I32 => {
            fits(f64::from(i32::MIN), f64::from(i32::MAX))?;
            Elements::I32(numbers().map(|x| x as i32).collect())
        }
        ElementType::I16 => {
            fits(f64::from(i16::MIN), f64::from(i16::MAX))?;
            Elements::I16(numbers().map(|x| x as i16).collect())
        }
        ElementType::I8 => {
            fits(f64::from(i8::MIN), f64::from(i8::MAX))?;
            Elements::I8(numbers().map(|x| x as i8).collect())
        }
        ElementType::U8 => {
            fits(0.0, 255.0)?;
            Elements::U8(numbers().map(|x| x as u8).collect())
        }
        ElementType::Bool => {
            fits(0.0, 1.0)?;
            Elements::Bool(numbers().map(|x| x as u8).collect())
        }
    };
    Ok(HostTensor { name: tensor.name.clone(), dims: tensor.dims.clone(), elements })
}

/// 64-bit integers beyond 2⁵³ are rounded.
fn number(elements: &Elements, place: usize) -> f64 {
    match elements {
        Elements::F32(v) => f64::from(v[place]),
        Elements::F64(v) => v[place],
        Elements::F16(v) => half::f16::from_bits(v[place]).to_f64(),
        Elements::Bf16(v) => half::bf16::from_bits(v[place]).to_f64(),
        Elements::I64(v) => v[place] as f64,
        Elements::I32(v) => f64::from(v[place]),
        Elements::I16(v) => f64::from(v[place]),
        Elements::I8(v) => f64::from(v[place]),
        Elements::U8(v) | Elements::Bool(v) => f64::from(v[place]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::{Fill, InputRole};

    fn file(descr: &str, shape: &str, data: &[u8]) -> Vec<u8> {
        let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
        let padded = format!("{header:<117}\n");
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend((padded.len() as u16).to_le_bytes());
        bytes.extend(padded.bytes());
        bytes.extend(data);
        bytes
    }

    fn read(bytes: &[u8]) -> Result<HostTensor, ModelError> {
        array(Path::new("x.npy"), "x", bytes)
    }

    #[test]
    fn arrays_of_any_rank_are_read() {
        let tensor = read(&file("<i4", "(2, 1)", &[1, 0, 0, 0, 2, 0, 0, 0])).unwrap();
        assert_eq!((tensor.dims, tensor.elements), (vec![2, 1], Elements::I32(vec![1, 2])));
        let one = read(&file("|u1", "(3,)", &[7, 8, 9])).unwrap();
        assert_eq!((one.dims, one.elements), (vec![3], Elements::U8(vec![7, 8, 9])));
        let scalar = read(&file("<f8", "()", &1.5_f64.to_le_bytes())).unwrap();
        assert_eq!((scalar.dims, scalar.elements), (vec![], Elements::F64(vec![1.5])));
    }

    #[test]
    fn what_is_no_array_is_refused_with_a_reason() {
        let refuse = |bytes: &[u8], part: &str| {
            let error = read(bytes).unwrap_err();
            let ModelError::Array { why, .. } = &error else { panic!("{error}") };
            assert!(why.contains(part), "{why}");
        };
        refuse(b"PK\x03\x04", "not a NumPy");
        refuse(b"\x93NUMPY\x01", "ends before its header");
        refuse(b"\x93NUMPY\x01\x00\xff\xff", "ends in its header");
        refuse(&file("<f4", "(2,)", &[0; 4]), "fewer or more");
        refuse(&file("<U4", "(1,)", &[0; 16]), "`<U4`");
        refuse(&file("<f4", "(99999999999, 99999999999)", &[]), "fewer or more");
    }

    #[test]
    fn fractions_do_not_become_whole_numbers() {
        let spec = |dtype| InputSpec {
            name: "x".into(),
            dtype,
            dims: vec![2],
            role: InputRole::Other,
            fill: Fill::Positions,
        };
        let tensor = |elements| HostTensor { name: "x".into(), dims: vec![2], elements };
        let whole = tensor(Elements::F64(vec![1.0, 300.0]));
        let found = convert_values(&whole, &spec(ElementType::I32)).unwrap();
        assert_eq!(found.elements, Elements::I32(vec![1, 300]));
        let error = convert_values(&whole, &spec(ElementType::U8)).unwrap_err();
        assert_eq!(error.to_string(), "input `x` cannot hold 300");
        let half = tensor(Elements::F32(vec![0.5, 1.0]));
        convert_values(&half, &spec(ElementType::I64)).unwrap_err();
        assert!(convert_values(&half, &spec(ElementType::F16)).is_ok());
    }
}
