//! In a process of its own, whose streams are looked at and which stands in a folder with files that nobody chose.

use crate::{engines, load, small, small_shape};
use std::{env, fs, process::Command};

/// Set in the process that does the work: the file that it loads.
const MARK: &str = "MODELMETER_TEST_ALONE";

#[test]
fn nothing_is_loaded_from_the_current_folder_and_nothing_is_printed() {
    if let Some(file) = env::var_os(MARK) {
        let mut generator = load(file.into(), &small_shape(), 1, 64);
        generator.feed(&[1, 2, 3]).unwrap();
        let maps = fs::read_to_string("/proc/self/maps").unwrap();
        let here = env::current_dir().unwrap();
        assert!(maps.contains(engines().to_str().unwrap()), "{maps}");
        assert!(!maps.contains(here.to_str().unwrap()), "{maps}");
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
    let name = "alone::nothing_is_loaded_from_the_current_folder_and_nothing_is_printed";
    let output = Command::new(env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture"])
        .env(MARK, small("llama-F32"))
        .current_dir(here.path())
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (said, complained) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success() && said.contains("1 passed"), "{said}{complained}");
    for words in ["llama", "ggml", "load_backend"] {
        let lines = said.lines().chain(complained.lines());
        let printed: Vec<_> =
            lines.filter(|line| line.contains(words) && !line.contains("alone::")).collect();
        assert!(printed.is_empty(), "{printed:?}");
    }
}
