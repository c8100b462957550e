//! llama.cpp, loaded once for the process.

use crate::{
    api::{Api, Handle, copied},
    locate::DESCRIPTION,
    log,
};
use engine::{EngineError, EngineErrorKind, found::Library};
use std::{
    ffi::{CString, c_int},
    fs,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

/// The number of the CPU among the kinds of devices (`GGML_BACKEND_DEVICE_TYPE_CPU`).
const CPU: c_int = 0;

/// A library that was loaded, and what it found here.
pub(crate) struct Runtime {
    pub(crate) api: Api,
    path: PathBuf,
    /// Its version, for errors.
    pub(crate) version: String,
}

/// Loads the library, or says that another one was loaded before.
pub(crate) fn load(library: &Library) -> Result<&'static Runtime, EngineError> {
    static RUNTIME: Mutex<Option<&'static Runtime>> = Mutex::new(None);
    let path = library.path.canonicalize().unwrap_or_else(|_| library.path.clone());
    let mut runtime = RUNTIME.lock().unwrap_or_else(PoisonError::into_inner);
    match *runtime {
        Some(loaded) if loaded.path == path => Ok(loaded),
        // Their parts have the same names.
        Some(loaded) => {
            let message = format!(
                "this process runs llama.cpp from `{}` and cannot load `{}` as well",
                loaded.path.display(),
                path.display()
            );
            Err(EngineError::new(EngineErrorKind::Unavailable, message)
                .with_hint("run the other one in a process of its own"))
        }
        None => {
            let opened = open(&path).map_err(|why| {
                let message = format!("could not load llama.cpp from `{}`", path.display());
                EngineError::new(EngineErrorKind::Unavailable, message).with_source(why).with_hint(
                    "`modelmeter engines install llamacpp` installs one that works; `LLAMA_CPP_LIB` selects another",
                )
            })?;
            let version = library.version_text();
            let loaded: &'static Runtime =
                Box::leak(Box::new(Runtime { api: opened, path, version }));
            *runtime = Some(loaded);
            Ok(loaded)
        }
    }
}

fn open(path: &Path) -> Result<Api, String> {
    let folder = path.parent().ok_or("it is in no folder")?;
    open_companions(folder)?;
    let api = Api::of(keep_open(path)?).map_err(|error| said(&error))?;
    log::forget();
    let folder = CString::new(folder.as_os_str().as_bytes()).map_err(|error| error.to_string())?;
    // SAFETY: the listener lives as long as the program, the text until the call has read it; nothing else of the library
    // is in use yet.
    let cpu = unsafe {
        (api.llama_log_set)(Some(log::listen), std::ptr::null_mut());
        (api.llama_backend_init)();
        (api.ggml_backend_load_all_from_path)(folder.as_ptr());
        (api.ggml_backend_dev_by_type)(CPU)
    };
    if cpu.is_null() {
        return Err(log::complaint().unwrap_or_else(|| {
            "it has no code for this processor (`libggml-cpu…`) beside it".to_owned()
        }));
    }
    Ok(api)
}

/// Opens what the library needs before it is looked for: the packages of npm look into the folder that somebody stands in,
/// too (their `RUNPATH` ends with an empty entry), but not for what is open already.
fn open_companions(folder: &Path) -> Result<(), String> {
    if !cfg!(target_os = "linux") {
        return Ok(());
    }
    for name in ["libgcc_s.so.1", "libm.so.6", "libstdc++.so.6"] {
        keep_open(Path::new(name))?;
    }
    // The others need the first.
    let mut found = vec![folder.join("libggml-base.so")];
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let is_ggml = |name: &str| name.starts_with("libggml.") && name.ends_with(".so");
    let ggml = entries.filter(|entry| entry.file_name().to_str().is_some_and(is_ggml));
    found.extend(ggml.map(|entry| entry.path()));
    let is_package = folder.join(DESCRIPTION).is_file();
    if is_package && (found.len() < 2 || !found[0].is_file()) {
        return Err("the package is not complete: `libggml` is missing".to_owned());
    }
    for library in found.iter().filter(|library| library.is_file()) {
        keep_open(library)?;
    }
    Ok(())
}

/// Opens a library for as long as the program lives: its threads never end.
fn keep_open(library: &Path) -> Result<&'static libloading::Library, String> {
    // SAFETY: opening runs the initialisers of the library, as starting any program that uses it does.
    let library = unsafe { libloading::Library::new(library) }.map_err(|error| said(&error))?;
    Ok(Box::leak(Box::new(library)))
}

/// The words of the system's loader, which stand behind those of `libloading`.
fn said(error: &libloading::Error) -> String {
    match std::error::Error::source(error) {
        Some(source) => source.to_string(),
        None => error.to_string(),
    }
}

impl Runtime {
    /// An error about a library whose parameters we do not know.
    pub(crate) fn unknown_layout(&self, of: &str) -> EngineError {
        let message = format!(
            "the parameters of a {of} have a layout in llama.cpp {} that is not known",
            self.version
        );
        EngineError::new(EngineErrorKind::Unsupported, message).with_hint(
            "`modelmeter engines install llamacpp` installs a version that was tried; unset `LLAMA_CPP_LIB` to use it",
        )
    }

    /// A function of the code for this processor.
    pub(crate) fn of_processor(&self, name: &std::ffi::CStr) -> Option<Handle> {
        let Api { ggml_backend_dev_by_type, ggml_backend_dev_backend_reg, .. } = self.api;
        // SAFETY: that there is a CPU was seen when the library was opened, and it belongs to a registry; the text ends with
        // a zero.
        let found = unsafe {
            let registry = ggml_backend_dev_backend_reg(ggml_backend_dev_by_type(CPU));
            (self.api.ggml_backend_reg_get_proc_address)(registry, name.as_ptr())
        };
        (!found.is_null()).then_some(found)
    }

    /// Which of several builds for processors was chosen: `haswell` of `libggml-cpu-haswell.so`.
    pub(crate) fn variant(&self) -> Option<String> {
        let inside = self.of_processor(c"ggml_threadpool_new")?;
        let mut about = std::mem::MaybeUninit::<libc::Dl_info>::zeroed();
        // SAFETY: `dladdr` takes any address; where it knows it, it fills the structure, whose texts live as long as the
        // library, which is never closed.
        let file = unsafe {
            if libc::dladdr(inside, about.as_mut_ptr()) == 0 {
                return None;
            }
            copied(about.assume_init().dli_fname)
        };
        let name = Path::new(&file).file_stem()?.to_str()?;
        name.strip_prefix("libggml-cpu-").map(str::to_owned)
    }
}
