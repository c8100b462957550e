//! OpenVINO's C functions, found by name in a library that is opened by its path.
//!
//! Only what we call is declared, as the headers of 2025.1 to 2026.4 do. Everything else in this crate goes through
//! the owners in `runtime`, `request` and `tensor`.

use crate::{fault::Fault, version};
use libloading::Library;
use std::{
    collections::BTreeMap,
    ffi::{CStr, c_char, c_int, c_void},
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

/// 0 where all went well.
pub(crate) type Status = c_int;

/// A shape; the dimensions belong to whoever made it.
#[repr(C)]
pub(crate) struct Shape {
    pub(crate) rank: i64,
    pub(crate) dims: *mut i64,
}

/// A range; fixed where both ends are equal.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Dimension {
    pub(crate) min: i64,
    pub(crate) max: i64,
}

/// A shape with ranges.
#[repr(C)]
pub(crate) struct PartialShape {
    pub(crate) rank: Dimension,
    pub(crate) dims: *mut Dimension,
}

/// Texts in a row.
#[repr(C)]
pub(crate) struct Devices {
    pub(crate) devices: *mut *mut c_char,
    pub(crate) size: usize,
}

/// OpenVINO's version.
#[repr(C)]
pub(crate) struct Version {
    pub(crate) build_number: *const c_char,
    pub(crate) description: *const c_char,
}

/// The time of one node.
#[repr(C)]
pub(crate) struct NodeInfo {
    pub(crate) status: c_int,
    pub(crate) real_time: i64,
    pub(crate) cpu_time: i64,
    pub(crate) node_name: *const c_char,
    pub(crate) exec_type: *const c_char,
    pub(crate) node_type: *const c_char,
}

/// The times of all nodes.
#[repr(C)]
pub(crate) struct NodeInfos {
    pub(crate) infos: *mut NodeInfo,
    pub(crate) size: usize,
}

/// Declares the functions and how they are found.
macro_rules! functions {
    ($($name:ident: $kind:ty,)+) => {
        /// OpenVINO's functions; the library they lie in is never closed.
        pub(crate) struct Api { $(pub(crate) $name: $kind,)+ }

        impl Api {
            fn of(library: &Library) -> Result<Api, libloading::Error> {
                // SAFETY: each type is the declaration of that very name in OpenVINO's C headers.
                unsafe {
                    Ok(Api { $($name: *library.get::<$kind>(stringify!($name).as_bytes())?,)+ })
                }
            }
        }
    };
}

/// Something OpenVINO made, of which we know only the address.
type Handle = *mut c_void;
type Text = *const c_char;

functions! {
    ov_get_openvino_version: unsafe extern "C" fn(*mut Version) -> Status,
    ov_version_free: unsafe extern "C" fn(*mut Version),
    ov_get_last_err_msg: unsafe extern "C" fn() -> Text,
    ov_free: unsafe extern "C" fn(Text),
    ov_core_create: unsafe extern "C" fn(*mut Handle) -> Status,
    ov_core_free: unsafe extern "C" fn(Handle),
    ov_core_read_model: unsafe extern "C" fn(Handle, Text, Text, *mut Handle) -> Status,
    ov_core_compile_model: unsafe extern "C" fn(Handle, Handle, Text, usize, *mut Handle, ...) -> Status,
    ov_core_set_property: unsafe extern "C" fn(Handle, Text, ...) -> Status,
    ov_core_get_property: unsafe extern "C" fn(Handle, Text, Text, *mut *mut c_char) -> Status,
    ov_core_get_available_devices: unsafe extern "C" fn(Handle, *mut Devices) -> Status,
    ov_available_devices_free: unsafe extern "C" fn(*mut Devices),
    ov_model_free: unsafe extern "C" fn(Handle),
    ov_model_inputs_size: unsafe extern "C" fn(Handle, *mut usize) -> Status,
    ov_model_outputs_size: unsafe extern "C" fn(Handle, *mut usize) -> Status,
    ov_model_const_input_by_index: unsafe extern "C" fn(Handle, usize, *mut Handle) -> Status,
    ov_model_const_output_by_index: unsafe extern "C" fn(Handle, usize, *mut Handle) -> Status,
    ov_port_get_any_name: unsafe extern "C" fn(Handle, *mut *mut c_char) -> Status,
    ov_port_get_element_type: unsafe extern "C" fn(Handle, *mut c_int) -> Status,
    ov_port_get_partial_shape: unsafe extern "C" fn(Handle, *mut PartialShape) -> Status,
    ov_partial_shape_free: unsafe extern "C" fn(*mut PartialShape),
    ov_output_const_port_free: unsafe extern "C" fn(Handle),
    ov_compiled_model_free: unsafe extern "C" fn(Handle),
    ov_compiled_model_get_property: unsafe extern "C" fn(Handle, Text, *mut *mut c_char) -> Status,
    ov_compiled_model_create_infer_request: unsafe extern "C" fn(Handle, *mut Handle) -> Status,
    ov_infer_request_free: unsafe extern "C" fn(Handle),
    ov_infer_request_set_input_tensor_by_index: unsafe extern "C" fn(Handle, usize, Handle) -> Status,
    ov_infer_request_get_output_tensor_by_index: unsafe extern "C" fn(Handle, usize, *mut Handle) -> Status,
    ov_infer_request_infer: unsafe extern "C" fn(Handle) -> Status,
    ov_infer_request_get_profiling_info: unsafe extern "C" fn(Handle, *mut NodeInfos) -> Status,
    ov_profiling_info_list_free: unsafe extern "C" fn(*mut NodeInfos),
    ov_tensor_create: unsafe extern "C" fn(c_int, Shape, *mut Handle) -> Status,
    ov_tensor_free: unsafe extern "C" fn(Handle),
    ov_tensor_get_shape: unsafe extern "C" fn(Handle, *mut Shape) -> Status,
    ov_shape_free: unsafe extern "C" fn(*mut Shape) -> Status,
    ov_tensor_get_element_type: unsafe extern "C" fn(Handle, *mut c_int) -> Status,
    ov_tensor_get_byte_size: unsafe extern "C" fn(Handle, *mut usize) -> Status,
    ov_tensor_data: unsafe extern "C" fn(Handle, *mut *mut c_void) -> Status,
}

impl Api {
    /// The functions of a library; opened once a process, because OpenVINO's threads never end.
    pub(crate) fn open(path: &Path) -> Result<&'static Api, Fault> {
        static OPENED: Mutex<BTreeMap<PathBuf, &'static Api>> = Mutex::new(BTreeMap::new());
        let mut opened = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(api) = opened.get(path) {
            return Ok(api);
        }
        open_companion(path);
        // SAFETY: opening runs the library's initialisers, as starting any program that uses OpenVINO does.
        let library = unsafe { Library::new(path) }.map_err(|error| Fault(said(&error)))?;
        let api = Api::of(&library).map_err(|error| Fault(said(&error)))?;
        std::mem::forget(library);
        let version = api.version()?;
        if version::is_too_old(&version) {
            return Err(Fault(format!("OpenVINO {version} is too old")));
        }
        let api: &'static Api = Box::leak(Box::new(api));
        opened.insert(path.to_owned(), api);
        Ok(api)
    }

    /// Turns a status into a result; the message is read at once, before another call replaces it.
    pub(crate) fn check(&self, status: Status) -> Result<(), Fault> {
        if status == 0 {
            return Ok(());
        }
        // SAFETY: the function takes nothing; its text is OpenVINO's own, ends with a zero and is copied here.
        let message = unsafe { copied((self.ov_get_last_err_msg)()) };
        Err(Fault::new(status, &message))
    }

    /// A text that OpenVINO allocated for us, given back after copying.
    pub(crate) fn take_text(&self, text: *mut c_char) -> String {
        // SAFETY: only texts that OpenVINO has just handed out come here; each is freed once.
        unsafe {
            let copy = copied(text);
            (self.ov_free)(text);
            copy
        }
    }

    fn version(&self) -> Result<String, Fault> {
        let mut version = Version { build_number: std::ptr::null(), description: std::ptr::null() };
        // SAFETY: OpenVINO fills the two texts, which live until they are freed below.
        unsafe {
            self.check((self.ov_get_openvino_version)(&raw mut version))?;
            let text = copied(version.build_number);
            (self.ov_version_free)(&raw mut version);
            Ok(text)
        }
    }
}

/// A copy of a text that may be absent.
///
/// # Safety
/// The text must end with a zero.
pub(crate) unsafe fn copied(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: the caller promises the zero.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

/// Intel's archives keep the threading library in a folder that the system's loader does not look into; once it is
/// open, OpenVINO finds it by name.
fn open_companion(library: &Path) {
    let Some(runtime) = library.ancestors().nth(3) else { return };
    let companion = runtime.join("3rdparty/tbb/lib/libtbb.so.12");
    if companion.is_file() {
        // SAFETY: this is the library that OpenVINO itself would open.
        if let Ok(opened) = unsafe { Library::new(companion) } {
            std::mem::forget(opened);
        }
    }
}

/// The words of the system's loader, which stand behind those of `libloading`.
fn said(error: &libloading::Error) -> String {
    match std::error::Error::source(error) {
        Some(source) => source.to_string(),
        None => error.to_string(),
    }
}
