//! Files with values for inputs.

use super::put;
use crate::{
    Outcome, Target, mutate,
    target::{ROOM, Reader},
};
use safetensors::{Dtype, tensor::TensorView};
use std::io::{Cursor, Write};
use types::{Allocations, HostTensor};

/// Arrays of NumPy.
pub(crate) const NPY: Target = Target {
    name: "npy",
    what: "`.npy` files with values of inputs",
    one_of: 1,
    room: ROOM,
    seeds: arrays,
    mutate: mutate::lines,
    open: || reader("x.npy"),
    expected: &[],
};

/// Archives of them.
pub(crate) const NPZ: Target = Target {
    name: "npz",
    what: "`.npz` files with values of inputs",
    one_of: 1,
    room: ROOM,
    seeds: || {
        vec![archive(zip::CompressionMethod::Stored), archive(zip::CompressionMethod::Deflated)]
    },
    mutate: mutate::bytes,
    open: || reader("x.npz"),
    expected: &[],
};

/// Tensors by name, from people and from workers.
pub(crate) const SAFETENSORS: Target = Target {
    name: "safetensors",
    what: "`.safetensors` files with values of inputs, outputs and allocations",
    one_of: 1,
    room: ROOM,
    seeds: || vec![tensors(), allocations()],
    mutate: mutate::safetensors,
    open: || -> Reader {
        let folder = super::folder();
        let mut read = reader("x.safetensors");
        Box::new(move |bytes| {
            let path = put(&folder, "x.safetensors", bytes);
            if let Ok(tensors) = engine::read_tensors(&path) {
                check(&tensors);
            }
            let mut columns = Allocations::default();
            if engine::read_allocations(&path, &mut columns).is_ok() {
                assert!(columns.is_whole(), "the columns do not fit together");
            }
            read(bytes)
        })
    },
    expected: &[],
};

fn reader(name: &'static str) -> Reader {
    let folder = super::folder();
    Box::new(move |bytes| {
        let path = put(&folder, name, bytes);
        let data = models::read_data(&path);
        if let Ok(data) = &data {
            assert!(!data.tensors.is_empty(), "a file without arrays was read");
            check(&data.tensors);
        }
        Outcome::from(&data)
    })
}

/// As many elements as the dims say.
fn check(tensors: &[HostTensor]) {
    for tensor in tensors {
        let count = tensor.dims.iter().try_fold(1_usize, |count, size| count.checked_mul(*size));
        assert_eq!(count, Some(tensor.elements.len()), "`{}` of {:?}", tensor.name, tensor.dims);
    }
}

fn array(descr: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
    let padded = format!("{header:<117}\n");
    let length = (padded.len() as u16).to_le_bytes();
    [&b"\x93NUMPY\x01\x00"[..], &length, padded.as_bytes(), data].concat()
}

fn arrays() -> Vec<Vec<u8>> {
    vec![
        array("<f4", "(2, 3)", &[1; 24]),
        array("<i8", "(2,)", &[0; 16]),
        array("|b1", "(3,)", &[0, 1, 1]),
        array("<f8", "()", &[0; 8]),
    ]
}

fn archive(method: zip::CompressionMethod) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default().compression_method(method);
    for (place, bytes) in arrays().into_iter().enumerate() {
        writer.start_file(format!("x{place}.npy"), options).expect("a new member");
        writer.write_all(&bytes).expect("memory can be written");
    }
    writer.finish().expect("a whole archive").into_inner()
}

fn tensors() -> Vec<u8> {
    let bytes = [1_u8; 48];
    let view = |dtype, dims: &[usize], count: usize| {
        TensorView::new(dtype, dims.to_vec(), &bytes[..count]).expect("the bytes fit")
    };
    let views = [
        ("input_ids", view(Dtype::I64, &[2, 3], 48)),
        ("mask", view(Dtype::BOOL, &[2, 3], 6)),
        ("pixels", view(Dtype::F32, &[1, 2, 2], 16)),
        ("half", view(Dtype::F16, &[3], 6)),
    ];
    safetensors::serialize(views, None).expect("whole tensors")
}

fn allocations() -> Vec<u8> {
    let folder = super::folder();
    let path = folder.path().join("events");
    let columns = Allocations {
        times: vec![1, 5, 9],
        blocks: vec![u64::MAX, 2, u64::MAX],
        sizes: vec![64, 32, -64],
        layers: vec![0, 0, 0],
        threads: vec![1, 2, 1],
        names: vec![Default::default()],
        ends: vec![3],
        dropped: 0,
    };
    engine::write_allocations(&path, &columns).expect("whole columns");
    std::fs::read(&path).expect("it was just written")
}
