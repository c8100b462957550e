//! Pages of runs built by hand, read by a real reader of HTML.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

#[path = "../../../report/tests/it/encoder.rs"]
mod encoder;
mod hostile;
#[path = "../../../report/tests/it/sample.rs"]
#[expect(dead_code, reason = "the tests of the report look at more")]
mod sample;
mod scene;
mod whole;
