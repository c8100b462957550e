//! Tensors between our memory and a page: raw bytes, little-endian, and where each begins.

use engine::{EngineError, EngineErrorKind};
use serde::{Deserialize, Serialize};
use types::{ElementType, Elements, HostTensor};

/// Where a tensor begins in what is sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Part {
    pub(crate) name: String,
    #[serde(rename = "type")]
    pub(crate) kind: String,
    pub(crate) dims: Vec<usize>,
    pub(crate) offset: usize,
    pub(crate) length: usize,
}

/// The runtime's names of element types.
const TYPES: [(ElementType, &str); 9] = [
    (ElementType::F32, "float32"),
    (ElementType::F64, "float64"),
    (ElementType::F16, "float16"),
    (ElementType::I64, "int64"),
    (ElementType::I32, "int32"),
    (ElementType::I16, "int16"),
    (ElementType::I8, "int8"),
    (ElementType::U8, "uint8"),
    (ElementType::Bool, "bool"),
];

/// The element type of this name.
pub(crate) fn element_type(name: &str) -> Option<ElementType> {
    TYPES.iter().find(|(_, known)| *known == name).map(|(kind, _)| *kind)
}

/// The tensors one after the other, each where the page may look at it as an array.
pub(crate) fn pack(tensors: &[HostTensor]) -> Result<(Vec<Part>, Vec<u8>), EngineError> {
    let mut bytes: Vec<u8> = Vec::new();
    let mut parts = Vec::new();
    for tensor in tensors {
        let kind = tensor.elements.element_type();
        let name = TYPES.iter().find(|(known, _)| *known == kind).map(|(_, name)| *name);
        let name = name.ok_or_else(|| {
            let message = format!("a page cannot hold the input `{}`", tensor.name);
            EngineError::new(EngineErrorKind::Unsupported, message)
                .with_source("JavaScript has no bf16".to_owned())
        })?;
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        let offset = bytes.len();
        put(&mut bytes, &tensor.elements);
        parts.push(Part {
            name: tensor.name.clone(),
            kind: name.to_owned(),
            dims: tensor.dims.clone(),
            offset,
            length: bytes.len() - offset,
        });
    }
    Ok((parts, bytes))
}

fn put(bytes: &mut Vec<u8>, elements: &Elements) {
    match elements {
        Elements::F32(v) => v.iter().for_each(|x| bytes.extend(x.to_le_bytes())),
        Elements::F64(v) => v.iter().for_each(|x| bytes.extend(x.to_le_bytes())),
        Elements::F16(v) | Elements::Bf16(v) => {
            v.iter().for_each(|x| bytes.extend(x.to_le_bytes()));
        }
        Elements::I64(v) => v.iter().for_each(|x| bytes.extend(x.to_le_bytes())),
        Elements::I32(v) => v.iter().for_each(|x| bytes.extend(x.to_le_bytes())),
        Elements::I16(v) => v.iter().for_each(|x| bytes.extend(x.to_le_bytes())),
        Elements::I8(v) => v.iter().for_each(|x| bytes.extend(x.to_le_bytes())),
        Elements::U8(v) | Elements::Bool(v) => bytes.extend(v),
    }
}

/// The tensors out of what a page sent.
pub(crate) fn unpack(parts: &[Part], bytes: &[u8]) -> Result<Vec<HostTensor>, EngineError> {
    parts.iter().map(|part| tensor(part, bytes)).collect()
}

fn tensor(part: &Part, bytes: &[u8]) -> Result<HostTensor, EngineError> {
    let wrong = || {
        let message = format!("the page sent a wrong tensor for `{}`", part.name);
        EngineError::new(EngineErrorKind::Failed, message)
    };
    let kind = element_type(&part.kind).ok_or_else(wrong)?;
    let end = part.offset.checked_add(part.length).ok_or_else(wrong)?;
    let bytes = bytes.get(part.offset..end).ok_or_else(wrong)?;
    let count = part.dims.iter().try_fold(1usize, |all, dim| all.checked_mul(*dim));
    if count.and_then(|count| count.checked_mul(kind.size())) != Some(bytes.len()) {
        return Err(wrong());
    }
    Ok(HostTensor { name: part.name.clone(), dims: part.dims.clone(), elements: take(kind, bytes) })
}

fn take(kind: ElementType, bytes: &[u8]) -> Elements {
    fn each<const N: usize, T>(bytes: &[u8], make: impl Fn([u8; N]) -> T) -> Vec<T> {
        bytes.as_chunks::<N>().0.iter().map(|chunk| make(*chunk)).collect()
    }
    match kind {
        ElementType::F32 => Elements::F32(each(bytes, f32::from_le_bytes)),
        ElementType::F64 => Elements::F64(each(bytes, f64::from_le_bytes)),
        ElementType::F16 => Elements::F16(each(bytes, u16::from_le_bytes)),
        ElementType::Bf16 => Elements::Bf16(each(bytes, u16::from_le_bytes)),
        ElementType::I64 => Elements::I64(each(bytes, i64::from_le_bytes)),
        ElementType::I32 => Elements::I32(each(bytes, i32::from_le_bytes)),
        ElementType::I16 => Elements::I16(each(bytes, i16::from_le_bytes)),
        ElementType::I8 => Elements::I8(each(bytes, i8::from_le_bytes)),
        ElementType::U8 => Elements::U8(bytes.to_vec()),
        ElementType::Bool => Elements::Bool(bytes.to_vec()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tensors_survive_the_way_to_a_page_and_back() {
        let tensor = |name: &str, dims: &[usize], elements| HostTensor {
            name: name.into(),
            dims: dims.to_vec(),
            elements,
        };
        let tensors = vec![
            tensor("mask", &[3], Elements::Bool(vec![1, 0, 1])),
            tensor("ids", &[1, 2], Elements::I64(vec![i64::MIN, 7])),
            tensor("half", &[1], Elements::F16(vec![0x3c00])),
            tensor("x", &[2, 2], Elements::F32(vec![1.5, -0.0, f32::MAX, 4.0])),
            tensor("none", &[0, 4], Elements::F64(vec![])),
        ];
        let (parts, bytes) = pack(&tensors).unwrap();
        assert!(parts.iter().all(|part| part.offset % 8 == 0), "arrays begin at their size");
        assert_eq!(unpack(&parts, &bytes).unwrap(), tensors);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let part = |length: usize, dims: &[usize]| Part {
            name: "y".into(),
            kind: "float32".into(),
            dims: dims.to_vec(),
            offset: 0,
            length,
        };
        assert!(unpack(&[part(8, &[2])], &[0; 8]).is_ok());
        assert!(unpack(&[part(8, &[3])], &[0; 8]).is_err());
        assert!(unpack(&[part(12, &[3])], &[0; 8]).is_err());
        assert!(unpack(&[part(usize::MAX, &[usize::MAX, 8])], &[0; 8]).is_err());
        let strange = Part { kind: "string".into(), ..part(8, &[2]) };
        assert!(unpack(&[strange], &[0; 8]).is_err());
        let bf16 =
            HostTensor { name: "b".into(), dims: vec![1], elements: Elements::Bf16(vec![0]) };
        assert!(pack(&[bf16]).unwrap_err().to_string().contains("`b`"));
    }
}
