//! What is made before the command: the published schemas, packed; and how the program is linked.

use flate2::{Compression, write::DeflateEncoder};
use std::{env, fs, io::Write, path::Path};

fn main() {
    pack_schemas();
    link();
}

/// The files of `docs/schema` one after the other, packed, and a list of their documents and lengths.
///
/// The program prints these files instead of making them of its types, whose code would be two megabytes more; a test
/// compares both.
fn pack_schemas() {
    let folder = Path::new("../../docs/schema");
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut files: Vec<_> = fs::read_dir(folder)
        .expect("the schemas are part of the source")
        .filter_map(|entry| {
            let path = entry.ok()?.path();
            let name = path.file_name()?.to_str()?.strip_suffix(".schema.json")?.to_owned();
            Some((name, fs::read(path).ok()?))
        })
        .collect();
    files.sort();
    let mut packed = DeflateEncoder::new(Vec::new(), Compression::best());
    let mut list = String::from("[\n");
    for (name, text) in &files {
        // `modelmeter.run-1` is the file of `modelmeter.run/1`.
        let (document, version) = name.rsplit_once('-').expect("a name ends with its version");
        list.push_str(&format!("    (\"{document}/{version}\", {}),\n", text.len()));
        packed.write_all(text).expect("memory can be written");
    }
    list.push(']');
    let out = env::var_os("OUT_DIR").expect("Cargo sets it");
    let out = Path::new(&out);
    fs::write(out.join("schemas.rs"), list).expect("the folder for output can be written");
    let packed = packed.finish().expect("memory can be written");
    fs::write(out.join("schemas.deflate"), packed).expect("the folder for output can be written");
}

/// Functions that came out alike are kept once.
fn link() {
    for variable in ["RUSTC_LINKER", "CARGO_ENCODED_RUSTFLAGS", "MODELMETER_LINK_MAP"] {
        println!("cargo::rerun-if-env-changed={variable}");
    }
    // What the program is made of, for whoever wants it smaller.
    if let Ok(map) = env::var("MODELMETER_LINK_MAP") {
        println!("cargo::rustc-link-arg-bins=-Wl,-Map={map}");
    }
    // Only the linker that comes with Rust for this system is known to have it; whoever chose another has that one.
    let is_ours = env::var("TARGET").as_deref() == Ok("x86_64-unknown-linux-gnu")
        && env::var_os("RUSTC_LINKER").is_none()
        && env::var_os("CARGO_ENCODED_RUSTFLAGS").is_none_or(|flags| flags.is_empty());
    if is_ours {
        println!("cargo::rustc-link-arg-bins=-Wl,--icf=all");
    }
}
