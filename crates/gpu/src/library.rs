//! The library and the Python hook that a program loads, and the variables that make it do so.

use crate::GpuError;
use std::{
    ffi::{OsStr, OsString},
    fs,
    io::Write,
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
    time::Duration,
};

/// Compiled by `build.rs`; empty where it is not supported.
const LIBRARY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/library.so"));
const HOOK: &[u8] = include_bytes!("../hook/sitecustomize.py");

/// Whether programs can be recorded on this system.
#[must_use]
pub fn is_supported() -> bool {
    !LIBRARY.is_empty()
}

/// What is to be recorded.
#[derive(Debug, Clone, Default)]
pub struct Wish {
    /// Steps before recording begins.
    pub after: Option<u64>,
    /// Steps that are recorded.
    pub steps: Option<u64>,
    /// The name of the range that is a step; the first outermost range otherwise.
    pub step: Option<String>,
    /// How long is recorded, from the first kernel or step.
    pub length: Option<Duration>,
    /// Whether modules of PyTorch open ranges.
    pub modules: bool,
    /// Whether kernels of CUDA graphs are followed to their ranges.
    pub graphs: bool,
    /// Bytes after which a process stops recording.
    pub limit: Option<u64>,
}

/// The files that a program loads.
#[derive(Debug, Clone)]
pub struct Injection {
    library: PathBuf,
    hook: PathBuf,
}

impl Injection {
    /// Writes the files into a folder of this user's cache, unless they are there as they should be.
    ///
    /// # Errors
    /// Where the folder cannot be written, or this system is not supported.
    pub fn unpack(cache: &Path) -> Result<Injection, GpuError> {
        if !is_supported() {
            return Err(GpuError::NotHere);
        }
        // By content: two versions of this program never write over each other.
        let name = format!("gpu-{:016x}", hash(LIBRARY) ^ hash(HOOK).rotate_left(1));
        let folder = cache.join(name);
        let hook = folder.join("python");
        let unusable = |path: &Path| {
            let path = path.to_owned();
            move |source| GpuError::Write { path, source }
        };
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&hook).map_err(unusable(&hook))?;
        let library = folder.join("libmodelmeter_gpu.so");
        for (path, bytes) in [(&library, LIBRARY), (&hook.join("sitecustomize.py"), HOOK)] {
            place(path, bytes).map_err(unusable(path))?;
        }
        Ok(Injection { library, hook })
    }

    /// The library.
    #[must_use]
    pub fn library(&self) -> &Path {
        &self.library
    }

    /// The variables that make a Python program write down when its steps begin, and change it as a rule advises; nothing is
    /// recorded. `variable` reads the environment that the program would have.
    #[must_use]
    pub fn step_variables(
        &self,
        folder: &Path,
        fix: Option<&str>,
        variable: impl Fn(&str) -> Option<OsString>,
    ) -> Vec<(OsString, OsString)> {
        vec![
            ("MODELMETER_GPU_STEP_TIMES".into(), folder.into()),
            ("MODELMETER_GPU_FIX".into(), fix.unwrap_or_default().into()),
            ("PYTHONPATH".into(), before(&self.hook, variable("PYTHONPATH"))),
        ]
    }

    /// The variables that make a program and its children load the library and write into a folder. `variable` reads
    /// the environment that the program would have.
    #[must_use]
    pub fn variables(
        &self,
        folder: &Path,
        wish: &Wish,
        variable: impl Fn(&str) -> Option<OsString>,
    ) -> Vec<(OsString, OsString)> {
        let mut variables: Vec<(OsString, OsString)> = vec![
            ("CUDA_INJECTION64_PATH".into(), self.library.clone().into()),
            ("NVTX_INJECTION64_PATH".into(), self.library.clone().into()),
            ("MODELMETER_GPU_FOLDER".into(), folder.into()),
            ("PYTHONPATH".into(), before(&self.hook, variable("PYTHONPATH"))),
        ];
        let cupti: Vec<PathBuf> = crate::cupti_libraries(&variable);
        let cupti =
            cupti.iter().map(|path| path.as_os_str()).collect::<Vec<_>>().join(OsStr::new(":"));
        variables.push(("MODELMETER_GPU_CUPTI".into(), cupti));
        let numbers = [
            ("AFTER", wish.after),
            ("STEPS", wish.steps),
            ("NANOSECONDS", wish.length.and_then(|length| u64::try_from(length.as_nanos()).ok())),
            ("GRAPHS", wish.graphs.then_some(1)),
            ("MODULES", wish.modules.then_some(1)),
            ("LIMIT", wish.limit),
        ];
        for (name, number) in numbers {
            // Empty is unset: what an outer recording asked for is not for this one.
            let value = number.map(|number| number.to_string()).unwrap_or_default();
            variables.push((format!("MODELMETER_GPU_{name}").into(), value.into()));
        }
        variables
            .push(("MODELMETER_GPU_STEP".into(), wish.step.clone().unwrap_or_default().into()));
        variables
    }
}

/// A folder before others in a list of paths.
fn before(folder: &Path, others: Option<OsString>) -> OsString {
    let mut list = folder.as_os_str().to_owned();
    if let Some(others) = others.filter(|others| !others.is_empty()) {
        list.push(":");
        list.push(others);
    }
    list
}

/// Writes a file unless it is there with this content; it appears whole.
fn place(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    if fs::read(path).is_ok_and(|there| there == bytes) {
        return Ok(());
    }
    let mut partial = path.as_os_str().to_owned();
    partial.push(format!(".{}.partial", std::process::id()));
    let written = || {
        let mut options = fs::OpenOptions::new();
        let mut file =
            options.write(true).create(true).truncate(true).mode(0o700).open(&partial)?;
        file.write_all(bytes)?;
        fs::rename(&partial, path)
    };
    written().inspect_err(|_| {
        let _ = fs::remove_file(&partial);
    })
}

/// FNV-1a: the same in every version of this program.
fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3)
    })
}
