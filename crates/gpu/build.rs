//! Compiles the library that programs load, with `rustc` alone: no dependency, no network, a few seconds.

use std::{env, path::PathBuf, process::Command};

fn main() {
    let source = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("Cargo sets it"))
        .join("../gpu-inject/src");
    println!("cargo::rerun-if-changed={}", source.display());
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("Cargo sets it")).join("library.so");
    // CUDA programs run on Linux; elsewhere the command says so.
    if env::var("CARGO_CFG_TARGET_OS").as_deref() != Ok("linux") {
        std::fs::write(&out, []).expect("the folder for output can be written");
        return;
    }
    let rustc = env::var_os("RUSTC").expect("Cargo sets it");
    let mut command = Command::new(rustc);
    command
        .args(["--edition", "2024", "--crate-type", "cdylib", "--crate-name", "modelmeter_gpu"])
        // A panic must not end the program that loads this: entry points catch it.
        .args(["-C", "panic=unwind", "-C", "opt-level=3", "-C", "strip=symbols"])
        // The standard library's own code is most of it; without this it is three times as large.
        .args(["-C", "lto=fat", "-C", "codegen-units=1", "--cap-lints", "allow"])
        .arg("--target")
        .arg(env::var_os("TARGET").expect("Cargo sets it"));
    if let Some(linker) = env::var_os("RUSTC_LINKER") {
        command.arg("-C").arg({
            let mut argument = std::ffi::OsString::from("linker=");
            argument.push(linker);
            argument
        });
    }
    command.arg("-o").arg(&out).arg(source.join("lib.rs"));
    // Flags of a coverage or sanitiser build are not for a library that other programs load.
    command.env_remove("RUSTFLAGS").env_remove("CARGO_ENCODED_RUSTFLAGS");
    let status = command.status().expect("rustc can be started");
    assert!(status.success(), "the library could not be compiled");
}
