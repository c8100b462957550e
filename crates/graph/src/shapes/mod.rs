//! Concrete shapes of every value for given input dims, with the small numbers that shapes are computed from.
//!
//! One file an operator family; each knows output dims from input dims and nothing of FLOPs. An operator that no family
//! knows has unknown outputs, and everything behind it that depends on them, but nothing fails.

mod attention;
mod control;
mod dims;
mod elementwise;
mod formula;
mod generate;
mod infer;
mod layout;
mod matrix;
mod narrowed;
mod quantised;
mod recurrent;
mod reduce;
mod select;
mod signal;
mod table;
mod value;
mod window;

pub use infer::{infer, infer_observed};
pub use table::Shapes;

pub(crate) use attention::Heads;
pub(crate) use dims::{axes, axis, broadcast};
pub(crate) use infer::infer_node;
pub(crate) use matrix::einsum;
pub(crate) use recurrent::Recurrent;
pub(crate) use table::Body;
pub(crate) use value::{Call, Value};
