//! Built without the feature `parquet`: its files are not written.

use crate::WriteError;
use std::{convert::Infallible, io::Write, marker::PhantomData};
use types::Run;

/// None.
pub(crate) struct ParquetOut<W: Write + Send>(Infallible, PhantomData<W>);

impl<W: Write + Send> ParquetOut<W> {
    pub(crate) fn new(_out: W) -> Result<ParquetOut<W>, WriteError> {
        Err(WriteError::NoParquet)
    }

    pub(crate) fn push(&mut self, _run: &Run) -> Result<(), WriteError> {
        match self.0 {}
    }

    pub(crate) fn finish(self) -> Result<(), WriteError> {
        match self.0 {}
    }
}
