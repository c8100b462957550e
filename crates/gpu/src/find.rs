//! Where a CUPTI library may be that the program has not loaded itself: beside its interpreter's packages, or with CUDA.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

/// Names of the library, the newest first.
const NAMES: [&str; 3] = ["libcupti.so.13", "libcupti.so.12", "libcupti.so"];

/// Folders of CUDA below the place where it is installed.
const IN_CUDA: [&str; 3] = ["extras/CUPTI/lib64", "lib64", "targets/x86_64-linux/lib"];

/// Every CUPTI library where one is usually found, the likeliest first. `variable` reads the program's environment.
#[must_use]
pub fn cupti_libraries(variable: &impl Fn(&str) -> Option<OsString>) -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = Vec::new();
    for name in ["CUDA_HOME", "CUDA_PATH"] {
        if let Some(home) = variable(name).filter(|home| !home.is_empty()) {
            folders.extend(IN_CUDA.iter().map(|below| Path::new(&home).join(below)));
        }
    }
    // An active environment carries CUDA as packages.
    if let Some(environment) = variable("VIRTUAL_ENV").filter(|path| !path.is_empty()) {
        let lib = Path::new(&environment).join("lib");
        let versions = std::fs::read_dir(&lib).into_iter().flatten().flatten();
        for version in versions {
            let packages = version.path().join("site-packages/nvidia");
            folders.push(packages.join("cu13/lib"));
            folders.push(packages.join("cuda_cupti/lib"));
        }
    }
    folders.extend(IN_CUDA.iter().map(|below| Path::new("/usr/local/cuda").join(below)));
    let mut found: Vec<PathBuf> = Vec::new();
    for folder in folders {
        // The list travels in one variable, separated by colons.
        let is_plain =
            folder.is_absolute() && !folder.as_os_str().as_encoded_bytes().contains(&b':');
        let library = NAMES.iter().map(|name| folder.join(name)).find(|path| path.is_file());
        if let Some(library) = library.filter(|path| is_plain && !found.contains(path)) {
            found.push(library);
        }
    }
    found
}
