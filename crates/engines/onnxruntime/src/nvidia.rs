//! NVIDIA's libraries as Python packages bring them: in folders that no linker looks into.

use engine::found::Library;
use engine::{Places, found};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// What the CUDA and TensorRT providers are linked to, each after what it needs itself.
const NEEDED: [&str; 11] = [
    "libcudart.so.",
    "libnvJitLink.so.",
    "libnvrtc.so.",
    "libcublasLt.so.",
    "libcublas.so.",
    "libcurand.so.",
    "libcufft.so.",
    "libcudnn.so.",
    "libnvinfer.so.",
    "libnvinfer_plugin.so.",
    "libnvonnxparser.so.",
];

/// Loads what lies in the packages beside the library, so that its providers find it; what is missing they will name.
pub(crate) fn preload(library: &Library, places: &Places) {
    for file in files(&package_folders(library, places)) {
        // One that cannot be loaded is the provider's to complain about, which knows whether it needs it.
        let _ = ort::util::preload_dylib(&file);
    }
}

fn package_folders(library: &Library, places: &Places) -> Vec<PathBuf> {
    // `<packages>/onnxruntime/capi`: those packages were installed to fit this library.
    let mut folders: Vec<PathBuf> =
        library.folder().ancestors().nth(2).map(Path::to_owned).into_iter().collect();
    folders.extend(places.python.iter().flat_map(|python| found::package_folders(python)));
    folders
}

/// The first file of each needed library, in the order they must be loaded.
fn files(packages: &[PathBuf]) -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = Vec::new();
    for packages in packages {
        folders.extend(entries(&packages.join("nvidia")).into_iter().map(|part| part.join("lib")));
        folders.push(packages.join("tensorrt_libs"));
    }
    let libraries: Vec<PathBuf> = folders.iter().flat_map(|folder| entries(folder)).collect();
    let first = |needed: &&str| {
        let is_it = |path: &&PathBuf| {
            path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(*needed))
        };
        libraries.iter().find(is_it).cloned()
    };
    NEEDED.iter().filter_map(first).collect()
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_library_is_found_once_and_after_what_it_needs() {
        let tree = tempfile::tempdir().unwrap();
        let mut all = Vec::new();
        for file in [
            "a/nvidia/cublas/lib/libcublas.so.12",
            "a/nvidia/cublas/lib/libcublasLt.so.12",
            "a/nvidia/cudnn/lib/libcudnn.so.9",
            "a/nvidia/cudnn/lib/libcudnn_graph.so.9",
            "b/nvidia/cublas/lib/libcublas.so.11",
            "b/nvidia/cu13/lib/libcudart.so.13",
            "b/tensorrt_libs/libnvinfer.so.10",
        ] {
            let path = tree.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, "").unwrap();
            all.push(path);
        }
        let found = files(&[tree.path().join("a"), tree.path().join("b")]);
        let expected = [5, 1, 0, 2, 6].map(|index: usize| all[index].clone());
        assert_eq!(found, expected);
    }
}
