//! Adds an execution provider to a session, with settings by the library's own names.

use crate::{
    provider::{self, Provider},
    runtime::checked,
};
use ort::{AsPointer, session::builder::SessionBuilder, sys};
use std::ffi::{CString, c_char};
use types::Device;

type Keys = *const *const c_char;

/// Adds the provider of a device; what it does not know is refused in its own words.
pub(crate) fn register(
    provider: &Provider,
    device: Device,
    builder: &mut SessionBuilder,
    settings: &[(&str, &str)],
) -> Result<(), ort::Error> {
    let index = provider::index(device).map(|index| index.to_string());
    let mut settings = settings.to_vec();
    if let Some(index) = &index {
        settings.push(("device_id", index));
    }
    let settings = Settings::new(&settings)?;
    let options = builder.ptr_mut();
    let api = ort::api();
    match device {
        Device::Cuda(_) => OwnOptions {
            create: api.CreateCUDAProviderOptions,
            update: api.UpdateCUDAProviderOptions,
            append: api.SessionOptionsAppendExecutionProvider_CUDA_V2,
            release: api.ReleaseCUDAProviderOptions,
        }
        .append(options, &settings),
        Device::Tensorrt(_) => OwnOptions {
            create: api.CreateTensorRTProviderOptions,
            update: api.UpdateTensorRTProviderOptions,
            append: api.SessionOptionsAppendExecutionProvider_TensorRT_V2,
            release: api.ReleaseTensorRTProviderOptions,
        }
        .append(options, &settings),
        Device::Rocm(_) => OwnOptions {
            create: api.CreateROCMProviderOptions,
            update: api.UpdateROCMProviderOptions,
            append: api.SessionOptionsAppendExecutionProvider_ROCM,
            release: api.ReleaseROCMProviderOptions,
        }
        .append(options, &settings),
        _ => {
            let name = CString::new(provider.short)?;
            let (keys, values) = (settings.keys.as_ptr(), settings.values.as_ptr());
            let append = api.SessionOptionsAppendExecutionProvider;
            // SAFETY: the options live in the builder, and the texts outlive the call, which copies them.
            checked(unsafe { append(options, name.as_ptr(), keys, values, settings.keys.len()) })
        }
    }
}

/// The functions of a provider that takes its settings in a structure of its own.
struct OwnOptions<T> {
    create: unsafe extern "system" fn(*mut *mut T) -> sys::OrtStatusPtr,
    update: unsafe extern "system" fn(*mut T, Keys, Keys, usize) -> sys::OrtStatusPtr,
    append: unsafe extern "system" fn(*mut sys::OrtSessionOptions, *const T) -> sys::OrtStatusPtr,
    release: unsafe extern "system" fn(*mut T),
}

impl<T> OwnOptions<T> {
    fn append(
        &self,
        options: *mut sys::OrtSessionOptions,
        settings: &Settings,
    ) -> Result<(), ort::Error> {
        let mut own = std::ptr::null_mut();
        let (keys, values) = (settings.keys.as_ptr(), settings.values.as_ptr());
        // SAFETY: the structure is made, filled, used and released here; the library copies what it keeps.
        unsafe {
            checked((self.create)(&raw mut own))?;
            let done = checked((self.update)(own, keys, values, settings.keys.len()))
                .and_then(|()| checked((self.append)(options, own)));
            (self.release)(own);
            done
        }
    }
}

/// Settings as the library takes them.
struct Settings {
    keys: Vec<*const c_char>,
    values: Vec<*const c_char>,
    /// What the pointers lead to.
    _texts: Vec<CString>,
}

impl Settings {
    fn new(settings: &[(&str, &str)]) -> Result<Settings, ort::Error> {
        let (mut keys, mut values, mut texts) = (Vec::new(), Vec::new(), Vec::new());
        for (key, value) in settings {
            for (text, pointers) in [(key, &mut keys), (value, &mut values)] {
                let text = CString::new(*text)?;
                pointers.push(text.as_ptr());
                texts.push(text);
            }
        }
        Ok(Settings { keys, values, _texts: texts })
    }
}

/// The providers that the loaded library was built with.
pub(crate) fn built_in() -> Result<Vec<String>, ort::Error> {
    let api = ort::api();
    let (mut names, mut count) = (std::ptr::null_mut(), 0);
    // SAFETY: the library fills both; the names are copied before they are given back.
    unsafe {
        checked((api.GetAvailableProviders)(&raw mut names, &raw mut count))?;
        let list = std::slice::from_raw_parts(names, usize::try_from(count).unwrap_or_default());
        let copies =
            list.iter().map(|&name| std::ffi::CStr::from_ptr(name).to_string_lossy().into_owned());
        let copies = copies.collect();
        checked((api.ReleaseAvailableProviders)(names, count))?;
        Ok(copies)
    }
}
