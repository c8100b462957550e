//! Folders for what is needed for a while, and what is said when the disk behind them has no room.

use crate::{Error, prepare::Prepared};
use engine::private::{self, TemporaryFolder};
use graph::Shapes;
use std::{io, path::Path};

/// A folder that goes away, and what it is for.
pub(crate) struct Scratch {
    folder: TemporaryFolder,
    what: &'static str,
    needed: u64,
}

impl Scratch {
    /// Makes one for `what`, in words that follow "could not write", which takes at least this many bytes (0 where nobody
    /// knows). What will not fit is refused before anything is computed.
    ///
    /// # Errors
    /// Where it cannot be made, or the disk behind it has less room.
    pub(crate) fn make(what: &'static str, needed: u64) -> Result<Scratch, Error> {
        let made = TemporaryFolder::make();
        let folder = made.map_err(|source| {
            let path = private::temporary_place();
            Error::Temporary { what, path, needed, source }
        })?;
        let scratch = Scratch { folder, what, needed };
        match private::free_space(scratch.path()) {
            Some(free) if free < needed => {
                let why = format!("only {free} bytes are free there");
                Err(scratch.failed(io::Error::new(io::ErrorKind::StorageFull, why)))
            }
            _ => Ok(scratch),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The error where a file in it could not be written.
    pub(crate) fn failed(&self, source: io::Error) -> Error {
        // The folder's own name goes away; people know the one that it lies in.
        let place = self.path().parent().unwrap_or(self.path());
        Error::Temporary { what: self.what, path: place.to_owned(), needed: self.needed, source }
    }
}

/// Bytes of a model's outputs, as far as shapes tell.
pub(crate) fn output_bytes(ready: &Prepared) -> u64 {
    let outputs = &ready.graph().graph.outputs;
    bytes_of(&ready.shapes(), outputs.iter().map(|output| output.name.as_str()))
}

/// Bytes of these values together, as far as shapes tell.
pub(crate) fn bytes_of<'a>(shapes: &Shapes, names: impl Iterator<Item = &'a str>) -> u64 {
    let size = |name: &str| {
        let dims = shapes.dims(name)?.iter();
        let elements = dims.copied().try_fold(1_usize, usize::checked_mul)?;
        Some(shapes.dtype(name)?.size(elements))
    };
    names.filter_map(size).fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_refused_with_the_folder_that_is_used_and_the_bytes() {
        let room = Scratch::make("the outputs", 1).unwrap();
        let place = room.path().parent().unwrap().to_owned();
        assert_eq!(place, private::temporary_place());
        let text = |error: Error| error.to_string();
        let folder = format!("into the temporary folder `{}`", place.display());
        let refused = Scratch::make("the outputs", u64::MAX).err().map(text);
        assert_eq!(
            refused,
            Some(format!("could not write the outputs, {} bytes, {folder}", u64::MAX))
        );
        let unknown = Scratch::make("the record of allocations", 0).unwrap();
        let full = unknown.failed(io::ErrorKind::StorageFull.into());
        assert!(full.hint().is_some_and(|hint| hint.contains("TMPDIR")));
        assert_eq!(text(full), format!("could not write the record of allocations {folder}"));
    }
}
