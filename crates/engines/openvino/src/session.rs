//! Inputs bound to a compiled model, and what its last inference left behind.

use crate::{fault::Fault, model::OpenVinoModel, request::Request, tensor::Tensor};
use engine::{EngineError, EngineErrorKind, NodeProfiler, OutputView, Session, SignatureValue};
use std::cell::OnceCell;
use types::{ElementType, HostTensor};

/// A session of OpenVINO.
pub(crate) struct OpenVinoSession<'a> {
    pub(crate) model: &'a OpenVinoModel,
    request: Request,
    /// One tensor an input, once everything was bound.
    inputs: Option<Vec<Bound>>,
    state: State,
}

/// An input in OpenVINO's memory.
struct Bound {
    dims: Vec<usize>,
    tensor: Tensor,
}

/// Whether there is something to look at.
enum State {
    Idle,
    /// References to the outputs, taken when somebody looks: taking them is no part of an inference.
    Inferred(OnceCell<Vec<Tensor>>),
}

impl<'a> OpenVinoSession<'a> {
    pub(crate) fn new(model: &'a OpenVinoModel, request: Request) -> OpenVinoSession<'a> {
        OpenVinoSession { model, request, inputs: None, state: State::Idle }
    }

    /// Binds the same tensors to another request of the same model.
    pub(crate) fn lend_inputs(&self, request: &mut Request) -> Result<(), EngineError> {
        for (index, bound) in self.inputs.as_ref().ok_or_else(nothing_bound)?.iter().enumerate() {
            request.set_input(index, &bound.tensor).map_err(failed)?;
        }
        Ok(())
    }

    /// The tensors in the order of the model's inputs, every one checked.
    fn sorted<'t>(&self, tensors: &'t [HostTensor]) -> Result<Vec<&'t HostTensor>, EngineError> {
        for tensor in tensors {
            let is_known = self.model.inputs.iter().any(|input| input.name == tensor.name);
            if !is_known && !self.model.unused.contains(&tensor.name) {
                return Err(bad_input(format!("the model has no input `{}`", tensor.name)));
            }
        }
        let find = |input: &SignatureValue| {
            let tensor = tensors.iter().find(|tensor| tensor.name == input.name);
            let tensor =
                tensor.ok_or_else(|| bad_input(format!("input `{}` is not given", input.name)))?;
            check(input, tensor)?;
            Ok(tensor)
        };
        self.model.inputs.iter().map(find).collect()
    }

    fn fetch(&self) -> Result<Vec<Tensor>, EngineError> {
        let outputs = 0..self.model.outputs.len();
        outputs.map(|index| self.request.output(index)).collect::<Result<_, _>>().map_err(failed)
    }
}

impl Session for OpenVinoSession<'_> {
    fn bind(&mut self, inputs: &[HostTensor]) -> Result<(), EngineError> {
        let tensors = self.sorted(inputs)?;
        self.state = State::Idle;
        let mut earlier = self.inputs.take().unwrap_or_default().into_iter();
        let mut all = Vec::with_capacity(tensors.len());
        for (index, host) in tensors.into_iter().enumerate() {
            // A tensor of the same shape is filled anew; OpenVINO holds it already.
            let bound = match earlier.next() {
                Some(mut bound) if bound.dims == host.dims => {
                    bound.tensor.fill(&host.elements).map_err(failed)?;
                    bound
                }
                _ => {
                    let dtype = host.elements.element_type();
                    let api = self.model.recipe.api;
                    let mut tensor = Tensor::new(api, dtype, &host.dims).map_err(failed)?;
                    tensor.fill(&host.elements).map_err(failed)?;
                    let set = self.request.set_input(index, &tensor);
                    set.map_err(|fault| {
                        bad_input(format!("input `{}` does not fit", host.name)).with_source(fault)
                    })?;
                    Bound { dims: host.dims.clone(), tensor }
                }
            };
            all.push(bound);
        }
        self.inputs = Some(all);
        Ok(())
    }

    fn infer(&mut self) -> Result<(), EngineError> {
        if self.inputs.is_none() {
            return Err(nothing_bound());
        }
        self.state = State::Idle;
        self.request.infer().map_err(failed)?;
        self.state = State::Inferred(OnceCell::new());
        Ok(())
    }

    fn outputs(&self) -> Result<Vec<OutputView<'_>>, EngineError> {
        let State::Inferred(cell) = &self.state else {
            return Err(EngineError::new(EngineErrorKind::Failed, "nothing was inferred yet"));
        };
        let tensors = match cell.get() {
            Some(tensors) => tensors,
            None => {
                let tensors = self.fetch()?;
                cell.get_or_init(|| tensors)
            }
        };
        let mut views = Vec::with_capacity(tensors.len());
        for (output, tensor) in self.model.outputs.iter().zip(tensors) {
            // Element types that are not ours (texts, wide unsigned numbers) have no view and are left out.
            if let Some(elements) = tensor.elements().map_err(failed)? {
                let dims = tensor.dims().map_err(failed)?;
                views.push(OutputView { name: &output.name, dims, elements });
            }
        }
        Ok(views)
    }

    fn node_profiler(&mut self) -> Option<&mut dyn NodeProfiler> {
        Some(self)
    }
}

fn check(input: &SignatureValue, tensor: &HostTensor) -> Result<(), EngineError> {
    let name = &tensor.name;
    let given = tensor.elements.element_type();
    if input.dtype != Some(given) {
        let word = |dtype: ElementType| format!("{dtype:?}").to_lowercase();
        let wanted = input.dtype.map_or_else(|| "another type".into(), word);
        return Err(bad_input(format!("input `{name}` takes {wanted}, not {}", word(given))));
    }
    let count = tensor.dims.iter().try_fold(1usize, |product, &dim| product.checked_mul(dim));
    if count != Some(tensor.elements.len()) {
        let (dims, elements) = (&tensor.dims, tensor.elements.len());
        return Err(bad_input(format!("input `{name}` has {elements} elements for {dims:?}")));
    }
    let Some(dims) = &input.dims else { return Ok(()) };
    let fits = dims.len() == tensor.dims.len()
        && dims.iter().zip(&tensor.dims).all(|(wanted, given)| wanted.is_none_or(|w| w == *given));
    if fits {
        return Ok(());
    }
    let wanted: Vec<String> =
        dims.iter().map(|d| d.map_or_else(|| "?".into(), |d| d.to_string())).collect();
    let wanted = wanted.join(", ");
    Err(bad_input(format!("input `{name}` takes [{wanted}], not {:?}", tensor.dims)))
}

fn bad_input(message: impl Into<String>) -> EngineError {
    EngineError::new(EngineErrorKind::BadInput, message)
}

fn nothing_bound() -> EngineError {
    bad_input("no inputs are bound")
}

pub(crate) fn failed(fault: Fault) -> EngineError {
    EngineError::new(EngineErrorKind::Failed, "the model failed while running")
        .with_hint(
            "the graph may need other inputs: `--input NAME=1x80x100` gives a shape, `NAME=0..9` values",
        )
        .with_source(fault)
}
