//! Models on disk.

use crate::models::everything;
use modelmeter_graph::{
    Attribute, DataType, GraphBuilder, Model, ReadError, Tensor, TensorData, count_weights,
};
use std::{fs, os::unix::fs::symlink, path::Path};

fn external(name: &str, path: impl AsRef<Path>, offset: u64, floats: usize) -> Tensor {
    Tensor {
        name: name.to_string(),
        dtype: DataType::Float,
        dims: vec![floats],
        data: TensorData::External {
            path: path.as_ref().to_path_buf(),
            offset,
            length: floats as u64 * 4,
        },
    }
}

fn with_weights(weights: Vec<Tensor>) -> Model {
    let mut builder = GraphBuilder::new("g");
    for weight in weights {
        builder.initializer(weight);
    }
    builder.finish_model()
}

#[test]
fn what_is_written_is_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.onnx");
    let mut model = everything();
    model.write(&path).unwrap();
    let back = Model::read(&path).unwrap();
    assert_eq!(back.folder.as_deref(), Some(folder.path()));
    model.folder = Some(folder.path().to_path_buf());
    assert_eq!(back, model);
    let names: Vec<_> =
        fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(names, ["model.onnx"], "nothing else stays behind");
}

#[test]
fn every_kind_of_attribute_survives() {
    let mut builder = GraphBuilder::new("g");
    let attributes = [
        ("int", Attribute::Int(-3)),
        ("float", Attribute::Float(0.5)),
        ("text", Attribute::from("words")),
        ("ints", Attribute::Ints(vec![1, -2])),
        ("no_ints", Attribute::Ints(vec![])),
        ("floats", Attribute::Floats(vec![1.5])),
        ("strings", Attribute::Strings(vec![b"a".to_vec(), vec![0xff]])),
        ("tensor", Attribute::Tensor(Tensor::from_i64s("", &[2], &[1, 2]))),
    ];
    builder.add("custom.domain", "Anything", &[], &attributes, 1);
    let model = builder.finish_model();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.onnx");
    model.write(&path).unwrap();
    let back = Model::read(&path).unwrap();
    assert_eq!(back.graph, model.graph);
    assert_eq!(back.opsets["custom.domain"], 1);
}

#[test]
fn an_initializer_that_is_also_listed_as_input_is_not_an_input() {
    let mut builder = GraphBuilder::new("g");
    builder.input("x", DataType::Float, &[1.into()]);
    builder.input("w", DataType::Float, &[1.into()]);
    builder.initializer(Tensor::from_f32s("w", &[1], &[1.0]));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.onnx");
    builder.finish_model().write(&path).unwrap();
    let names: Vec<String> =
        Model::read(&path).unwrap().graph.inputs.into_iter().map(|input| input.name).collect();
    assert_eq!(names, ["x"]);
}

#[test]
fn references_in_the_folder_stay_and_others_are_brought_along() {
    let elsewhere = tempfile::tempdir().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let floats = |values: &[f32]| values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>();
    fs::write(elsewhere.path().join("far.bin"), floats(&[9.0, 1.0, 2.0])).unwrap();
    fs::create_dir(folder.path().join("sub")).unwrap();
    fs::write(folder.path().join("sub/near.bin"), floats(&[3.0, 4.0])).unwrap();
    let model = with_weights(vec![
        external("far", elsewhere.path().join("far.bin"), 4, 2),
        external("near", folder.path().join("sub/near.bin"), 0, 2),
    ]);
    let path = folder.path().join("m.onnx");
    model.write(&path).unwrap();
    let back = Model::read(&path).unwrap();
    let [far, near] = &back.graph.initializers[..] else { panic!("two weights") };
    assert_eq!(near, &external("near", "sub/near.bin", 0, 2));
    assert_eq!(far, &external("far", "m.onnx.data", 0, 2));
    assert_eq!(back.bytes(far).unwrap()[..], floats(&[1.0, 2.0]));
    assert_eq!(back.bytes(near).unwrap()[..], floats(&[3.0, 4.0]));
    // Written again over itself, the file it points at must survive.
    back.write(&path).unwrap();
    let again = Model::read(&path).unwrap();
    assert_eq!(again.bytes(&again.graph.initializers[0]).unwrap()[..], floats(&[1.0, 2.0]));
}

#[test]
fn more_than_two_gigabytes_can_be_referenced() {
    let folder = tempfile::tempdir().unwrap();
    // A sparse file: it has the size but takes no room.
    let size = 3u64 << 30;
    let file = fs::File::create(folder.path().join("big.bin")).unwrap();
    file.set_len(size).unwrap();
    let model = with_weights(vec![external("big", "big.bin", 4096, (size as usize - 4096) / 4)]);
    let path = folder.path().join("m.onnx");
    let model = Model { folder: Some(folder.path().to_path_buf()), ..model };
    model.write(&path).unwrap();
    assert!(fs::metadata(&path).unwrap().len() < 1000);
    let back = Model::read(&path).unwrap();
    assert_eq!(back, model);
    assert_eq!(count_weights(&back).bytes.0, size - 4096);
    let bytes = back.bytes(&back.graph.initializers[0]).unwrap();
    assert_eq!(bytes.last(), Some(&0));
}

#[test]
fn missing_and_short_weight_files_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.onnx");
    let model = with_weights(vec![external("w", "weights.bin", 8, 4)]);
    let model = Model { folder: Some(folder.path().to_path_buf()), ..model };
    model.write(&path).unwrap();
    let missing = Model::read(&path).unwrap_err();
    assert!(matches!(&missing, ReadError::External { name, .. } if name == "w"), "{missing}");
    assert!(missing.to_string().contains("weights.bin"), "{missing}");
    fs::write(folder.path().join("weights.bin"), [0; 20]).unwrap();
    let short = Model::read(&path).unwrap_err().to_string();
    assert!(short.contains("24 bytes needed, 20 present"), "{short}");
    fs::write(folder.path().join("weights.bin"), [0; 24]).unwrap();
    assert!(Model::read(&path).is_ok());
}

#[test]
fn references_out_of_the_folder_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("weights.bin"), [0; 16]).unwrap();
    let path = folder.path().join("m.onnx");
    let model = with_weights(vec![external("w", "weights.bin", 0, 4)]);
    let model = Model { folder: Some(folder.path().to_path_buf()), ..model };
    model.write(&path).unwrap();
    let bytes = fs::read(&path).unwrap();
    let at = bytes.windows(11).position(|window| window == b"weights.bin").unwrap();
    for location in ["../eights.b", "/etc/passwd", "a/../../b.c"] {
        let mut changed = bytes.clone();
        changed[at..at + 11].copy_from_slice(location.as_bytes());
        fs::write(&path, changed).unwrap();
        let error = Model::read(&path).unwrap_err();
        assert!(matches!(error, ReadError::Escapes { .. }), "{location}: {error}");
    }
}

#[test]
fn links_out_of_the_folder_are_refused_and_those_of_the_hubs_cache_are_not() {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name);
    for name in ["model", "elsewhere", "blobs", "snapshot"] {
        fs::create_dir(place(name)).unwrap();
    }
    fs::write(place("elsewhere/secret"), [0; 16]).unwrap();
    fs::write(place("model/weights.bin"), [0; 16]).unwrap();
    let model = with_weights(vec![external("w", "weights.bin", 0, 4)]);
    let model = Model { folder: Some(place("model")), ..model };
    let path = place("model/m.onnx");
    model.write(&path).unwrap();
    let whole = fs::read(&path).unwrap();
    Model::read(&path).unwrap();
    fs::rename(place("model/weights.bin"), place("model/other.bin")).unwrap();
    symlink("other.bin", place("model/weights.bin")).unwrap();
    Model::read(&path).expect("a link that stays in the folder leads nowhere else");
    fs::remove_file(place("model/weights.bin")).unwrap();
    symlink("../elsewhere/secret", place("model/weights.bin")).unwrap();
    let error = Model::read(&path).unwrap_err();
    let expected = place("elsewhere/secret").canonicalize().unwrap();
    assert!(
        matches!(&error, ReadError::Leaves { real, name, .. } if *real == expected && name == "w"),
        "{error}"
    );
    // A snapshot of the hub: both files are links to blobs that lie together.
    fs::write(place("blobs/a"), whole).unwrap();
    fs::write(place("blobs/b"), [0; 16]).unwrap();
    symlink("../blobs/a", place("snapshot/m.onnx")).unwrap();
    symlink("../blobs/b", place("snapshot/weights.bin")).unwrap();
    Model::read(place("snapshot/m.onnx")).unwrap();
}

#[test]
fn a_graph_in_a_circle_is_refused_when_it_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.onnx");
    let mut builder = GraphBuilder::new("g");
    let x = builder.input("x", DataType::Float, &[2.into()]);
    let sum = builder.node("Add", &[&x, "back"], &[]);
    builder.output("y", &sum, DataType::Float, &[2.into()]);
    let mut model = builder.finish_model();
    let mut back = model.graph.nodes[0].clone();
    let made = back.outputs[0].clone();
    (back.name, back.inputs, back.outputs) =
        ("turn".into(), vec![made.clone(), made], vec!["back".into()]);
    model.graph.nodes.push(back);
    model.write(&path).unwrap();
    let error = Model::read(&path).unwrap_err();
    assert!(error.to_string().starts_with("the graph has a cycle: node `"), "{error}");
}

#[test]
fn a_failed_write_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let model = with_weights(vec![external("w", "/nowhere/weights.bin", 0, 4)]);
    assert!(model.write(folder.path().join("m.onnx")).is_err());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    assert!(everything().write(folder.path().join("missing/m.onnx")).is_err());
}
