//! Values and shapes of inputs that the user gave, read before anything is settled.

use crate::{Error, Profiler};
use models::ModelError;
use std::path::{Path, PathBuf};
use types::{Feed, HostTensor, InputShape, InputSpec, InputValues, ValueRange, ValueSource};

/// Values for one input, as a user gives them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GivenValues {
    /// Drawn from this range.
    Range(ValueRange),
    /// Read from this `.npy` file; the file says the shape too.
    File(PathBuf),
}

impl GivenValues {
    /// What a stored cell was given.
    pub(crate) fn of(feed: &Feed) -> Vec<(String, GivenValues)> {
        let given = |values: &InputValues| match &values.source {
            ValueSource::Range { range } => GivenValues::Range(range.clone()),
            ValueSource::File { path, .. } => GivenValues::File(path.clone()),
        };
        feed.values.iter().map(|values| (values.name.clone(), given(values))).collect()
    }
}

/// Everything that was given for inputs.
pub(crate) struct GivenInputs {
    pub(crate) shapes: Vec<InputShape>,
    pub(crate) values: Vec<InputValues>,
    /// What was read, under the names of the inputs.
    pub(crate) tensors: Vec<HostTensor>,
}

impl GivenInputs {
    pub(crate) fn read(profiler: &Profiler) -> Result<GivenInputs, Error> {
        let mut given = GivenInputs {
            shapes: profiler.inputs.clone(),
            values: Vec::new(),
            tensors: Vec::new(),
        };
        for (name, values) in &profiler.values {
            let source = match values {
                GivenValues::Range(range) => ValueSource::Range { range: range.clone() },
                GivenValues::File(path) => given.file(name, path)?,
            };
            given.values.push(InputValues { name: name.clone(), source });
        }
        Ok(given)
    }

    fn file(&mut self, name: &str, path: &Path) -> Result<ValueSource, Error> {
        let (tensor, hash) = models::read_npy(path, name)?;
        let said = self.shapes.iter().find(|shape| shape.name == name);
        match said {
            Some(said) if said.dims != tensor.dims => {
                return Err(ModelError::OtherShape {
                    input: name.to_owned(),
                    path: path.to_owned(),
                    found: tensor.dims,
                    asked: said.dims.clone(),
                }
                .into());
            }
            Some(_) => {}
            None => {
                let dims = tensor.dims.clone();
                self.shapes.push(InputShape { name: name.to_owned(), dims });
            }
        }
        self.tensors.push(tensor);
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        Ok(ValueSource::File { path, hash })
    }

    /// The values of an input: read where they were given, drawn otherwise.
    pub(crate) fn tensor(&self, spec: &InputSpec, seed: u64) -> Result<HostTensor, Error> {
        match self.tensors.iter().find(|tensor| tensor.name == spec.name) {
            Some(tensor) => Ok(models::convert_values(tensor, spec)?),
            None => Ok(engine::draw(spec, seed)),
        }
    }
}
