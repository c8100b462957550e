//! Engines that follow scripts, for the tests and for the worker that they start.

use engine::{Engine, FakeEngine};
use modelmeter::Engines;

/// Two engines; a model with a script of its own makes them follow that.
pub(crate) fn engines() -> Engines {
    let engine = |id, script: &str| -> &'static dyn Engine {
        let fake: FakeEngine = script.parse().expect("the script is a good one");
        Box::leak(Box::new(fake.with_id(id)))
    };
    Engines::of(vec![engine("steady", "2ms"), engine("slower", "6ms")].leak())
}
