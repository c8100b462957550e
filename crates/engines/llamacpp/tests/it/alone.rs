//! In a process of its own, started in a folder with files that nobody chose.

use crate::{engines, load, small, small_shape};
use std::{fs, process::Command};

/// Set in the process that loads the library.
const INSIDE: &str = "LLAMACPP_TEST_INSIDE";

#[test]
fn nothing_is_loaded_from_the_folder_somebody_stands_in() {
    let file = small("llama-F32");
    if std::env::var_os(INSIDE).is_some() {
        return;
    }
    let here = tempfile::tempdir().unwrap();
    for name in [
        "libstdc++.so.6",
        "libm.so.6",
        "libgcc_s.so.1",
        "libggml-base.so",
        "libggml.v0.5.0.so",
        "libggml-cpu.so",
        "libggml-cpu-x64.so",
        "libggml-cuda.so",
    ] {
        fs::write(here.path().join(name), "no library").unwrap();
    }
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "alone::inside", "--nocapture", "--ignored"])
        .env(INSIDE, &file)
        .current_dir(here.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
    assert!(engines().is_absolute());
}

#[test]
#[ignore = "another test starts it in a process of its own"]
fn inside() {
    let file = std::env::var_os(INSIDE).unwrap();
    let mut generator = load(file.into(), &small_shape(), 1, 64);
    generator.feed(&[1, 2, 3]).unwrap();
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    let here = std::env::current_dir().unwrap();
    assert!(maps.contains("libllama") && !maps.contains(here.to_str().unwrap()));
}
