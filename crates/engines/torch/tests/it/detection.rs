//! Whether an interpreter has PyTorch, without importing it.

use crate::worker::{places, python};
use engine::{Availability, Engine, Host, Places, Takes};
use modelmeter_engine_torch::Torch;
use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
};
use types::{Device, Precision};

fn availability(python: &Path) -> Availability {
    Torch.availability(&Places { python: Some(python.to_owned()), ..Places::default() })
}

fn unavailable(python: &Path) -> (String, String) {
    match availability(python) {
        Availability::Unavailable { why, hint } => (why, hint),
        other => panic!("{other:?}"),
    }
}

/// A fresh environment with no package in it.
fn bare_environment(folder: &Path) -> PathBuf {
    let status =
        Command::new(python()).args(["-m", "venv", "--without-pip"]).arg(folder).status().unwrap();
    assert!(status.success());
    folder.join("bin/python")
}

#[test]
fn the_real_pytorch_is_found_with_its_version_and_devices() {
    let Availability::Available { version } = Torch.availability(&places()) else {
        panic!("{:?}", Torch.availability(&places()))
    };
    let required = fs::read_to_string(
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../requirements-test.txt"),
    )
    .unwrap();
    let pinned = required.lines().find_map(|line| line.strip_prefix("torch==")).unwrap();
    assert!(version.starts_with(pinned), "{version}");
    let devices = Torch.devices(&places());
    assert_eq!(devices[0], Device::Cpu);
    for device in [Device::Cuda(0), Device::Rocm(0), Device::Mps] {
        let absent = Torch.absence(&places(), device);
        assert_eq!(absent.is_none(), devices.contains(&device), "{device}: {absent:?}");
    }
    assert_eq!(Torch.precisions(&places(), Device::Cpu), Precision::ALL);
    assert!(!Torch.precisions(&places(), Device::Cuda(0)).contains(&Precision::Int8));
    assert!(matches!((Torch.takes(), Torch.host()), (Takes::Module, Host::Program(_))));
}

#[test]
fn a_python_without_pytorch_is_told_how_to_get_it() {
    let folder = tempfile::tempdir().unwrap();
    let python = bare_environment(folder.path());
    let (why, hint) = unavailable(&python);
    assert!(why.contains("has no PyTorch"), "{why}");
    assert_eq!(hint, format!("`{} -m pip install torch transformers`", python.display()));
}

#[test]
fn a_pytorch_that_is_too_old_is_named_with_what_is_needed() {
    let folder = tempfile::tempdir().unwrap();
    let python = bare_environment(folder.path());
    let library = fs::read_dir(folder.path().join("lib")).unwrap().next().unwrap().unwrap().path();
    let package = library.join("site-packages/torch");
    fs::create_dir_all(&package).unwrap();
    // Importing it would end the interpreter: that it answers shows that nobody does.
    fs::write(package.join("__init__.py"), "raise SystemExit(1)\n").unwrap();
    fs::write(package.join("version.py"), "__version__ = '1.9.1+cu111'\ncuda = '11.1'\n").unwrap();
    let (why, hint) = unavailable(&python);
    assert!(why.contains("PyTorch 1.9.1+cu111; 2.2 or newer is needed"), "{why}");
    assert!(hint.contains("install --upgrade torch"), "{hint}");
}

#[test]
fn what_is_no_python_is_said_to_be_none() {
    let folder = tempfile::tempdir().unwrap();
    let (why, _) = unavailable(&folder.path().join("nothing"));
    assert!(why.contains("cannot be started"), "{why}");
    let program = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    };
    let (why, _) = unavailable(&program("talker", "#!/bin/sh\necho torch 99.9\n"));
    assert!(why.contains("is not a Python interpreter"), "{why}");
    let (why, hint) = unavailable(&program("sleeper", "#!/bin/sh\nexec sleep 600\n"));
    assert!(why.contains("did not answer within 5 s"), "{why}");
    assert!(hint.contains("--python"), "{hint}");
}
