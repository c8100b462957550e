//! Files that are not whole, not right or not models.

use crate::models::everything;
use modelmeter_graph::{Model, ReadError, analyse};
use proptest::prelude::*;
use std::{fs, path::PathBuf, sync::LazyLock};

static BYTES: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("model.onnx");
    everything().write(&path).expect("the model is written");
    fs::read(&path).expect("the model is there")
});

fn read(bytes: &[u8]) -> Result<Model, ReadError> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("model.onnx");
    fs::write(&path, bytes).expect("the bytes are written");
    Model::read(path)
}

#[test]
fn a_truncated_file_is_never_taken_for_whole() {
    for length in 1..BYTES.len() {
        assert!(Model::from_bytes(BYTES[..length].to_vec().into()).is_err(), "{length} bytes");
    }
}

#[test]
fn a_cut_in_the_last_tensor_is_named_with_its_place() {
    let cut = BYTES.len() - 1;
    let error = read(&BYTES[..cut]).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("the file ends in the middle of a tensor (byte {cut} of {})", BYTES.len())
    );
}

#[test]
fn strangers_are_recognised() {
    let why = |bytes: &[u8]| match read(bytes) {
        Err(ReadError::NotOnnx { why, .. }) => why,
        other => panic!("{other:?}"),
    };
    assert!(why(b"version https://git-lfs.github.com/spec/v1\n").contains("git lfs pull"));
    assert!(why(b"PK\x03\x04rest").contains("zip"));
    assert!(why(b"<!doctype html>").contains("text"));
    assert!(why(b"\x08\x08").contains("no graph"));
    assert!(why(&[0x10, 0, 0, 0, 0, 0, 0, 0, b'{', b'}']).contains("safetensors"));
    assert!(matches!(read(b"").unwrap_err(), ReadError::Empty { .. }));
    assert!(read(b"hello, this is just some text\n").is_err());
}

#[test]
fn a_missing_file_and_a_folder_are_errors_with_the_path() {
    let folder = tempfile::tempdir().unwrap();
    let missing = Model::read(folder.path().join("nothing.onnx")).unwrap_err();
    assert!(missing.to_string().contains("nothing.onnx"), "{missing}");
    assert!(matches!(Model::read(folder.path()).unwrap_err(), ReadError::Open { .. }));
    assert!(Model::read(PathBuf::new()).is_err());
}

proptest! {
    /// Whatever is read must also survive analysis.
    #[test]
    fn flipped_bits_never_panic(flips in prop::collection::vec((0usize..4096, 0u8..8), 1..6)) {
        let mut bytes = BYTES.clone();
        for (at, bit) in flips {
            let at = at % bytes.len();
            bytes[at] ^= 1 << bit;
        }
        if let Ok(model) = Model::from_bytes(bytes.into()) {
            let inputs = [("ids".to_string(), vec![2, 3])];
            let coverage = analyse(&model, &inputs).work.coverage.0;
            prop_assert!((0.0..=1.0).contains(&coverage));
        }
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        if let Ok(model) = Model::from_bytes(bytes.into()) {
            prop_assert!(analyse(&model, &[]).work.coverage.0 <= 1.0);
        }
    }
}

#[test]
fn pipes_are_refused_instead_of_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("weights.data");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    let why = |error: ReadError| std::error::Error::source(&error).unwrap().to_string();
    assert_eq!(why(Model::read(&pipe).unwrap_err()), "it is a named pipe, not a regular file");
    let mut model = everything();
    model.graph.initializers.push(modelmeter_graph::Tensor {
        name: "far".into(),
        dtype: modelmeter_graph::DataType::Float,
        dims: vec![1],
        data: modelmeter_graph::TensorData::External {
            path: "other.data".into(),
            offset: 0,
            length: 4,
        },
    });
    model.folder = Some(folder.path().to_path_buf());
    fs::write(folder.path().join("other.data"), [0; 4]).unwrap();
    let path = folder.path().join("model.onnx");
    model.write(&path).unwrap();
    fs::remove_file(folder.path().join("other.data")).unwrap();
    fs::rename(&pipe, folder.path().join("other.data")).unwrap();
    let error = Model::read(&path).unwrap_err();
    assert!(matches!(error, ReadError::External { .. }), "{error}");
    assert_eq!(why(error), "it is a named pipe, not a regular file");
}
