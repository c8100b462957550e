//! Made-up folder trees, with this test program standing in for a library of this machine.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

use super::*;
use std::collections::BTreeMap;

/// A folder tree that goes away again.
struct Tree(tempfile::TempDir);

impl Tree {
    fn new() -> Tree {
        Tree(tempfile::tempdir().unwrap())
    }

    fn path(&self, relative: &str) -> PathBuf {
        self.0.path().join(relative)
    }

    /// A file that this machine could load.
    fn library(&self, relative: &str) -> PathBuf {
        let path = self.folder_of(relative);
        std::os::unix::fs::symlink(std::env::current_exe().unwrap(), &path).unwrap();
        path
    }

    fn text(&self, relative: &str, text: &str) -> PathBuf {
        let path = self.folder_of(relative);
        fs::write(&path, text).unwrap();
        path
    }

    fn folder_of(&self, relative: &str) -> PathBuf {
        let path = self.path(relative);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        path
    }
}

/// As [`Tree::library`], but a file of its own, so that its name is that of the file itself.
fn copy(tree: &Tree, relative: &str) -> PathBuf {
    let path = tree.folder_of(relative);
    fs::copy(std::env::current_exe().unwrap(), &path).unwrap();
    path
}

fn places_with(path: PathBuf) -> Places {
    Places { libraries: BTreeMap::from([(ID.to_owned(), path)]), ..Places::default() }
}

fn node_folder(module: &str) -> String {
    let machine = if cfg!(target_arch = "x86_64") { "x64" } else { "arm64" };
    format!("{module}/onnxruntime-node/bin/napi-v6/linux/{machine}")
}

#[test]
fn every_place_is_looked_at_in_order() {
    let tree = Tree::new();
    let system = copy(&tree, "usr/lib/libonnxruntime.so.1.18.0");
    let node = copy(&tree, &format!("{}/libonnxruntime.so.1", node_folder("node_modules")));
    tree.text(
        "node_modules/onnxruntime-node/package.json",
        r#"{"name": "onnxruntime-node", "version": "1.24.3"}"#,
    );
    let packages = "venv/lib/python3.12/site-packages";
    let wheel = copy(&tree, &format!("{packages}/onnxruntime/capi/libonnxruntime.so.1.31.1"));
    tree.text("venv/pyvenv.cfg", "include-system-site-packages = false\n");
    copy(&tree, "engines/onnxruntime/1.9.0/libonnxruntime.so.1.20.0");
    let ours = copy(&tree, "engines/onnxruntime/1.30.0/libonnxruntime.so.1.30.0");
    copy(&tree, "engines/onnxruntime/.1.99.0.partial/libonnxruntime.so.1.99.0");
    let named_file = copy(&tree, "mine/lib/libonnxruntime.so.1.19.2");

    let mut places = Places {
        python: Some(tree.path("venv/bin/python")),
        installed: Some(tree.path("engines")),
        node_modules: vec![tree.path("node_modules")],
        system: vec![tree.path("usr/lib")],
        ..places_with(tree.path("mine"))
    };
    let found = |places: &Places| {
        let library = locate(places).unwrap();
        (library.path.clone(), library.version_text())
    };
    assert_eq!(found(&places), (named_file, "1.19.2".to_owned()));
    places.libraries.clear();
    assert_eq!(found(&places), (ours, "1.30.0".to_owned()));
    places.installed = None;
    assert_eq!(found(&places), (wheel, "1.31.1".to_owned()));
    places.python = None;
    assert_eq!(found(&places), (node, "1.24.3".to_owned()));
    places.node_modules.clear();
    assert_eq!(found(&places), (system, "1.18.0".to_owned()));
    places.system.clear();
    let absent = locate(&places).unwrap_err();
    assert_eq!(absent.why, "no ONNX Runtime library was found");
    for way in
        ["modelmeter engines install onnxruntime", "pip install onnxruntime", "ORT_DYLIB_PATH"]
    {
        assert!(absent.hint.contains(way), "{}", absent.hint);
    }
}

#[test]
fn a_version_that_no_name_tells_comes_from_the_package() {
    let tree = Tree::new();
    let wheel = copy(&tree, "p/onnxruntime/capi/libonnxruntime.so");
    fs::create_dir_all(tree.path("p/onnxruntime_gpu-1.22.0.dist-info")).unwrap();
    assert_eq!(locate(&places_with(wheel)).unwrap().version.unwrap(), "1.22.0");
    let release = copy(&tree, "onnxruntime-linux/lib/libonnxruntime.so");
    tree.text("onnxruntime-linux/VERSION_NUMBER", "1.21.1\n");
    assert_eq!(locate(&places_with(release)).unwrap().version.unwrap(), "1.21.1");
    let bare = copy(&tree, "q/libonnxruntime.so");
    assert_eq!(locate(&places_with(bare)).unwrap().version_text(), "unknown");
}

#[test]
fn a_link_has_the_version_of_what_it_leads_to() {
    let tree = Tree::new();
    let file = copy(&tree, "lib/libonnxruntime.so.1.20.1");
    let link = tree.path("lib/libonnxruntime.so");
    std::os::unix::fs::symlink(&file, &link).unwrap();
    assert_eq!(locate(&places_with(link)).unwrap().version.unwrap(), "1.20.1");
    // Of both names the one with the version is taken.
    assert_eq!(locate(&places_with(tree.path("lib"))).unwrap().path, file);
}

#[test]
fn a_library_that_is_too_old_is_refused_with_the_version_it_takes() {
    let tree = Tree::new();
    let absent = locate(&places_with(copy(&tree, "libonnxruntime.so.1.16.3"))).unwrap_err();
    assert!(
        absent.why.contains("1.16.3") && absent.why.contains("1.17 or newer"),
        "{}",
        absent.why
    );
}

#[test]
fn one_that_does_not_work_is_passed_over_but_told_when_none_does() {
    let tree = Tree::new();
    let broken = tree.text("a/libonnxruntime.so.1.31.1", "hello");
    let mut places = Places { system: vec![tree.path("a")], ..Places::default() };
    let absent = locate(&places).unwrap_err();
    assert_eq!(absent.why, format!("`{}` is not a shared library", broken.display()));
    let good = tree.library("b/libonnxruntime.so.1.31.1");
    places.system.push(tree.path("b"));
    assert_eq!(locate(&places).unwrap().path, good);
    // What was named outright is never replaced.
    places.libraries.insert(ID.to_owned(), broken);
    assert!(locate(&places).unwrap_err().why.contains("is not a shared library"));
}

#[test]
fn a_name_that_leads_nowhere_is_said_to() {
    let tree = Tree::new();
    let absent = locate(&places_with(tree.path("nowhere"))).unwrap_err();
    assert!(
        absent.why.contains("ORT_DYLIB_PATH") && absent.why.contains("nowhere"),
        "{}",
        absent.why
    );
}

#[test]
fn a_wheel_without_a_library_is_told() {
    let tree = Tree::new();
    tree.text("venv/pyvenv.cfg", "");
    let packages = "venv/lib/python3.11/site-packages";
    tree.text(&format!("{packages}/onnxruntime/capi/libonnxruntime_providers_shared.so"), "");
    let places = Places { python: Some(tree.path("venv/bin/python")), ..Places::default() };
    assert!(locate(&places).unwrap_err().why.contains("before 1.19"));
}
