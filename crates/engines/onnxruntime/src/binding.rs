//! Inputs bound once, outputs looked at where the library left them: an inference copies and allocates nothing of ours.

use crate::{
    convert::{element_type, value_of, view_of},
    explain,
    runtime::checked,
};
use engine::{EngineError, EngineErrorKind, OutputView};
use ort::{
    AsPointer,
    memory::{Allocator, MemoryInfo},
    session::IoBinding,
    value::{DynValue, ValueType},
};
use std::ptr::{self, NonNull};
use types::HostTensor;

/// Inputs in the library's hands, and the outputs of the last run.
///
/// Fields go in this order: the binding uses the values, and the values lie in our tensors.
pub(crate) struct Bound<'a> {
    binding: IoBinding,
    _values: Vec<DynValue>,
    pub(crate) inputs: Vec<HostTensor>,
    session: &'a ort::session::Session,
    pub(crate) has_run: bool,
}

impl<'a> Bound<'a> {
    /// Checks the inputs and hands them over; where the device has memory of its own, they are uploaded here.
    pub(crate) fn new(
        session: &'a ort::session::Session,
        inputs: Vec<HostTensor>,
    ) -> Result<Bound<'a>, EngineError> {
        check(session, &inputs)?;
        let failed = |error: ort::Error| explain::other("could not bind the inputs", &error);
        let mut binding = session.create_binding().map_err(failed)?;
        let mut values = Vec::with_capacity(inputs.len());
        for tensor in &inputs {
            // SAFETY: the tensor's memory is not touched or moved while the value lives; `Bound` drops it last.
            let value = unsafe { value_of(tensor) }.map_err(failed)?;
            binding.bind_input(tensor.name.as_str(), &value).map_err(failed)?;
            values.push(value);
        }
        binding.synchronize_inputs().map_err(failed)?;
        let mut bound = Bound { binding, _values: values, inputs, session, has_run: false };
        bound.free_outputs()?;
        Ok(bound)
    }

    /// Lets the next run make its outputs anew, in host memory.
    fn free_outputs(&mut self) -> Result<(), EngineError> {
        self.has_run = false;
        self.binding.clear_outputs();
        for output in self.session.outputs() {
            self.binding
                .bind_output_to_device(output.name(), &MemoryInfo::default())
                .map_err(|error| explain::other("could not bind the outputs", &error))?;
        }
        Ok(())
    }

    /// Runs once; returns when the outputs are there.
    pub(crate) fn run(&mut self) -> Result<(), EngineError> {
        // Each run writes into the outputs of the one before, and fails where they change their shape.
        let ran = match self.run_once() {
            Err(_) if self.has_run => {
                self.free_outputs()?;
                self.run_once()
            }
            ran => ran,
        };
        match ran {
            Ok(()) => {
                self.has_run = true;
                Ok(())
            }
            Err(error) => {
                self.free_outputs()?;
                Err(explain::of_running(&error))
            }
        }
    }

    fn run_once(&mut self) -> Result<(), ort::Error> {
        let api = ort::api();
        let (session, binding) = (self.session.ptr().cast_mut(), self.binding.ptr().cast_mut());
        // SAFETY: both live, and the binding was made for this session; nobody else runs it, for it is not `Sync`.
        unsafe {
            checked((api.RunWithBinding)(session, ptr::null(), binding))?;
            checked((api.SynchronizeBoundOutputs)(binding))
        }
    }

    /// The outputs of the last run where they lie; what is no tensor of our types has no view.
    pub(crate) fn outputs(&self) -> Result<Vec<OutputView<'_>>, EngineError> {
        let failed = |error: ort::Error| explain::other("could not read the outputs", &error);
        let allocator = Allocator::default();
        let (mut list, mut count) = (ptr::null_mut(), 0usize);
        let mut views = Vec::with_capacity(self.session.outputs().len());
        // SAFETY: the list and its handles are ours to release. What the views show belongs to the binding, which
        // keeps it until the next run, and that needs `&mut self`.
        unsafe {
            let binding = self.binding.ptr();
            let values = ort::api().GetBoundOutputValues;
            let allocator_pointer = allocator.ptr().cast_mut();
            checked(values(binding, allocator_pointer, &raw mut list, &raw mut count))
                .map_err(failed)?;
            if list.is_null() {
                return Ok(views);
            }
            for (output, &value) in
                self.session.outputs().iter().zip(std::slice::from_raw_parts(list, count))
            {
                let Some(value) = NonNull::new(value) else { continue };
                let value = DynValue::from_ptr(value, Some(&allocator));
                if let Some((dims, elements)) = view_of(&value).map_err(failed)? {
                    views.push(OutputView { name: output.name(), dims, elements });
                }
            }
            allocator.free(list);
        }
        Ok(views)
    }
}

/// Whether the inputs are those of the model; the library would tell only when it runs.
fn check(session: &ort::session::Session, inputs: &[HostTensor]) -> Result<(), EngineError> {
    let bad = |why: String| Err(EngineError::new(EngineErrorKind::BadInput, why));
    let replaceable = session.overridable_initializers();
    for tensor in inputs {
        let name = &tensor.name;
        let known = session.inputs().iter().find(|input| input.name() == name);
        let initializer = || replaceable.iter().find(|i| i.name() == name).map(|i| i.dtype());
        let Some(dtype) = known.map(|input| input.dtype()).or_else(initializer) else {
            return bad(format!("the model has no input `{name}`"));
        };
        let ValueType::Tensor { ty, shape, .. } = dtype else {
            return bad(format!("input `{name}` takes a {dtype}, not a tensor"));
        };
        let given = tensor.elements.element_type();
        if element_type(*ty) != Some(given) {
            return bad(format!("input `{name}` takes {ty}, not {given:?}").to_lowercase());
        }
        let fits = |(wanted, given): (&i64, &usize)| *wanted < 0 || *wanted == *given as i64;
        if shape.len() != tensor.dims.len() || !shape.iter().zip(&tensor.dims).all(fits) {
            let wanted: Vec<String> =
                shape.iter().map(|&d| if d < 0 { "?".to_owned() } else { d.to_string() }).collect();
            let wanted = wanted.join(", ");
            return bad(format!("input `{name}` has shape [{wanted}], not {:?}", tensor.dims));
        }
        if tensor.dims.iter().product::<usize>() != tensor.elements.len() {
            let (count, dims) = (tensor.elements.len(), &tensor.dims);
            return bad(format!("input `{name}` has {count} elements, which do not fill {dims:?}"));
        }
    }
    let is_given = |name: &str| inputs.iter().any(|tensor| tensor.name == name);
    let needed = session.inputs().iter().filter(|i| !matches!(i.dtype(), ValueType::Optional(_)));
    match needed.map(|input| input.name()).find(|name| !is_given(name)) {
        Some(missing) => bad(format!("the model's input `{missing}` is missing")),
        None => Ok(()),
    }
}
