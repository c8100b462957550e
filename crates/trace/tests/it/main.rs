//! Traces of a made-up model, as files and as the programs read them that they are for.

#[path = "../../../report/tests/it/encoder.rs"]
mod encoder;
mod readers;
#[expect(dead_code, reason = "the tests of the report need more of it")]
#[path = "../../../report/tests/it/sample.rs"]
mod sample;
mod timeline;
mod traces;
