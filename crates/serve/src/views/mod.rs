//! One file a view: it reads, hands what it read to a renderer, and says what it follows.

pub(crate) mod act;
pub(crate) mod api;
pub(crate) mod compare;
pub(crate) mod form;
pub(crate) mod load;
pub(crate) mod machines;
pub(crate) mod now;
pub(crate) mod plans;
pub(crate) mod recommend;
pub(crate) mod run;
pub(crate) mod runs;
pub(crate) mod trace;
pub(crate) mod trend;
