//! The engines, one line each.

use engine::Engine;

/// Every engine this build knows, in the order in which `auto` tries them.
pub const ENGINES: &[&dyn Engine] = &[&engine_rten::Rten];
