//! Owners of OpenVINO's core, models and compiled models.

use crate::{
    api::{Api, Devices, Dimension, PartialShape, Status, copied},
    fault::Fault,
    request::Request,
    tensor::element_type,
};
use std::{
    ffi::{CString, c_char, c_void},
    os::unix::ffi::OsStrExt,
    path::Path,
    ptr::null_mut,
};
use types::ElementType;

/// OpenVINO with its plugins and their settings.
pub(crate) struct Core {
    api: &'static Api,
    handle: *mut c_void,
}

/// A model as it was read.
pub(crate) struct Model {
    api: &'static Api,
    handle: *mut c_void,
}

/// A model made ready for a device.
pub(crate) struct Compiled {
    api: &'static Api,
    handle: *mut c_void,
}

/// An input or output of a model.
#[derive(Debug, Clone)]
pub(crate) struct Port {
    /// One of its names, where it has any.
    pub(crate) name: Option<String>,
    /// Its element type, where it is one of ours.
    pub(crate) dtype: Option<ElementType>,
    /// Its dimensions; `None` inside is an open one, `None` outside an unknown rank.
    pub(crate) dims: Option<Vec<Option<usize>>>,
}

impl Core {
    pub(crate) fn new(api: &'static Api) -> Result<Core, Fault> {
        let mut handle = null_mut();
        // SAFETY: OpenVINO writes a new core to the address, which we own from then on.
        api.check(unsafe { (api.ov_core_create)(&raw mut handle) })?;
        Ok(Core { api, handle })
    }

    /// Sets a property for everything compiled afterwards.
    pub(crate) fn set(&self, device: &str, key: &str, value: &str) -> Result<(), Fault> {
        let (device, key, value) = (text(device)?, text(key)?, text(value)?);
        // SAFETY: the core is alive, and the function reads exactly one key and one value behind the device.
        let status = unsafe {
            let (device, key, value) = (device.as_ptr(), key.as_ptr(), value.as_ptr());
            (self.api.ov_core_set_property)(self.handle, device, key, value)
        };
        self.api.check(status)
    }

    pub(crate) fn property(&self, device: &str, key: &str) -> Result<String, Fault> {
        let (device, key) = (text(device)?, text(key)?);
        let mut value = null_mut();
        // SAFETY: the core is alive; the value is a text that is freed by `take_text`.
        self.api.check(unsafe {
            let (device, key) = (device.as_ptr(), key.as_ptr());
            (self.api.ov_core_get_property)(self.handle, device, key, &raw mut value)
        })?;
        Ok(self.api.take_text(value))
    }

    pub(crate) fn available_devices(&self) -> Result<Vec<String>, Fault> {
        let mut list = Devices { devices: null_mut(), size: 0 };
        // SAFETY: OpenVINO fills the list with `size` texts, which live until the list is freed.
        unsafe {
            self.api.check((self.api.ov_core_get_available_devices)(self.handle, &raw mut list))?;
            let names = (0..list.size).map(|i| copied(*list.devices.add(i))).collect();
            (self.api.ov_available_devices_free)(&raw mut list);
            Ok(names)
        }
    }

    /// Reads a file; weights beside it are found by the names in it.
    pub(crate) fn read(&self, path: &Path) -> Result<Model, Fault> {
        let path = CString::new(path.as_os_str().as_bytes()).map_err(no_zero)?;
        let mut handle = null_mut();
        // SAFETY: the core is alive; no second file is named; we own the model that is written to the address.
        self.api.check(unsafe {
            let weights = std::ptr::null();
            (self.api.ov_core_read_model)(self.handle, path.as_ptr(), weights, &raw mut handle)
        })?;
        Ok(Model { api: self.api, handle })
    }

    /// Makes a model ready with the properties set so far.
    pub(crate) fn compile(&self, model: &Model, device: &str) -> Result<Compiled, Fault> {
        let device = text(device)?;
        let mut handle = null_mut();
        // SAFETY: core and model are alive, and with no properties announced nothing behind the address is read.
        self.api.check(unsafe {
            let compile = self.api.ov_core_compile_model;
            compile(self.handle, model.handle, device.as_ptr(), 0, &raw mut handle)
        })?;
        Ok(Compiled { api: self.api, handle })
    }
}

impl Model {
    pub(crate) fn inputs(&self) -> Result<Vec<Port>, Fault> {
        self.ports(self.api.ov_model_inputs_size, self.api.ov_model_const_input_by_index)
    }

    pub(crate) fn outputs(&self) -> Result<Vec<Port>, Fault> {
        self.ports(self.api.ov_model_outputs_size, self.api.ov_model_const_output_by_index)
    }

    fn ports(
        &self,
        size: unsafe extern "C" fn(*mut c_void, *mut usize) -> Status,
        by_index: unsafe extern "C" fn(*mut c_void, usize, *mut *mut c_void) -> Status,
    ) -> Result<Vec<Port>, Fault> {
        let mut count = 0;
        // SAFETY: the model is alive and the count is written to our variable.
        self.api.check(unsafe { size(self.handle, &raw mut count) })?;
        let port = |index| {
            let mut handle = null_mut();
            // SAFETY: the model is alive and the index below its count; we own the port until it is freed below.
            self.api.check(unsafe { by_index(self.handle, index, &raw mut handle) })?;
            let port = self.port(handle);
            // SAFETY: the port was just made and is not used afterwards.
            unsafe { (self.api.ov_output_const_port_free)(handle) };
            port
        };
        (0..count).map(port).collect()
    }

    fn port(&self, handle: *mut c_void) -> Result<Port, Fault> {
        let api = self.api;
        let mut name: *mut c_char = null_mut();
        let mut code = 0;
        let nothing = Dimension { min: 0, max: 0 };
        let mut shape = PartialShape { rank: nothing, dims: null_mut() };
        // SAFETY: the port is alive and each call writes to a variable of ours.
        let named = unsafe { (api.ov_port_get_any_name)(handle, &raw mut name) };
        // SAFETY: as above.
        api.check(unsafe { (api.ov_port_get_element_type)(handle, &raw mut code) })?;
        // SAFETY: as above.
        api.check(unsafe { (api.ov_port_get_partial_shape)(handle, &raw mut shape) })?;
        let is_ranked = shape.rank.min == shape.rank.max && shape.rank.max >= 0;
        let rank = usize::try_from(shape.rank.max).unwrap_or(0);
        let dims = is_ranked.then(|| {
            // SAFETY: a fixed rank means that so many dimensions were written.
            let dimension = |i| unsafe { *shape.dims.add(i) };
            let fixed = |d: Dimension| (d.min == d.max).then(|| usize::try_from(d.max).ok());
            (0..rank).map(|i| fixed(dimension(i)).flatten()).collect()
        });
        // SAFETY: the shape was filled by OpenVINO and is not used afterwards.
        unsafe { (api.ov_partial_shape_free)(&raw mut shape) };
        Ok(Port {
            name: (named == 0).then(|| api.take_text(name)),
            dtype: element_type(code),
            dims,
        })
    }
}

impl Compiled {
    pub(crate) fn property(&self, key: &str) -> Result<String, Fault> {
        let key = text(key)?;
        let mut value = null_mut();
        // SAFETY: the compiled model is alive; the value is a text that is freed by `take_text`.
        self.api.check(unsafe {
            let read = self.api.ov_compiled_model_get_property;
            read(self.handle, key.as_ptr(), &raw mut value)
        })?;
        Ok(self.api.take_text(value))
    }

    /// Something that can run.
    pub(crate) fn request(&self) -> Result<Request, Fault> {
        let mut handle = null_mut();
        // SAFETY: the compiled model is alive; the request belongs to its owner from then on.
        self.api.check(unsafe {
            (self.api.ov_compiled_model_create_infer_request)(self.handle, &raw mut handle)
        })?;
        Ok(Request::new(self.api, handle))
    }
}

impl Drop for Core {
    fn drop(&mut self) {
        // SAFETY: we own the core and it is used no more.
        unsafe { (self.api.ov_core_free)(self.handle) }
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        // SAFETY: we own the model and it is used no more.
        unsafe { (self.api.ov_model_free)(self.handle) }
    }
}

impl Drop for Compiled {
    fn drop(&mut self) {
        // SAFETY: we own the compiled model and it is used no more; requests keep what they need of it.
        unsafe { (self.api.ov_compiled_model_free)(self.handle) }
    }
}

fn text(text: &str) -> Result<CString, Fault> {
    CString::new(text).map_err(no_zero)
}

fn no_zero(error: std::ffi::NulError) -> Fault {
    Fault(format!("a text for OpenVINO holds a zero byte: {error}"))
}
