//! Built without the feature `serve`: there is no live page.

use crate::{
    Exit, Failure,
    arguments::{Global, Serve},
};

pub(crate) fn run(_arguments: &Serve, _global: &Global) -> Result<Exit, Failure> {
    Err(Failure::new(Exit::Cannot, "this build has no live page: it lacks the feature `serve`")
        .hint("`modelmeter report` writes a page of stored runs"))
}
