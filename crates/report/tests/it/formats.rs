//! The list of formats: every one of them writes, and its name is its own.

use crate::sample::{text_run, vision_run};
use modelmeter_report::{RUN_FORMATS, format_by_id};

#[test]
fn every_format_writes_every_run() {
    let runs = [text_run(), vision_run()];
    for format in RUN_FORMATS {
        let mut out = Vec::new();
        format.write(&runs, &mut out).expect("a vector takes every write");
        let text = String::from_utf8(out).expect("every format is text");
        assert!(text.ends_with('\n'), "{} does not end its last line", format.id());
        for run in &runs {
            assert!(text.contains(&run.model.name), "{} lost {}", format.id(), run.model.name);
        }
    }
}

#[test]
fn every_format_is_found_by_its_own_id() {
    for format in RUN_FORMATS {
        let found = format_by_id(format.id()).expect("a listed format is found");
        assert_eq!(found.describe(), format.describe());
        assert!(!format.extension().starts_with('.') && !format.describe().is_empty());
    }
    assert!(format_by_id("html").is_none());
}

#[test]
fn a_writer_that_fails_is_an_error_and_not_a_panic() {
    struct Full;
    impl std::io::Write for Full {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::Error::from(std::io::ErrorKind::StorageFull))
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    for format in RUN_FORMATS {
        let error = format.write(&[text_run()], &mut Full).expect_err("the disk is full");
        assert_eq!(error.kind(), std::io::ErrorKind::StorageFull, "{}", format.id());
    }
}
