//! Panics of libraries over files that they cannot read: caught, and told apart from our own mistakes.
//!
//! It is here because every crate that hands a file to a library needs it, and the command, whose message about bugs must
//! not appear for them.

use std::{
    any::Any,
    cell::Cell,
    panic::{AssertUnwindSafe, catch_unwind},
};

thread_local! {
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

/// Whether a panic of this thread would be caught by [`caught`].
#[must_use]
pub fn is_caught() -> bool {
    DEPTH.try_with(Cell::get).is_ok_and(|depth| depth > 0)
}

/// Runs a library's code.
///
/// # Errors
/// What a panic said.
pub fn caught<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    let change = |by: i32| {
        // A thread that is ending has nobody left to ask.
        let _ = DEPTH.try_with(|depth| depth.set(depth.get().saturating_add_signed(by)));
    };
    change(1);
    let done = catch_unwind(AssertUnwindSafe(work));
    change(-1);
    done.map_err(|panic| said(&*panic).to_owned())
}

fn said(panic: &(dyn Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_caught_with_its_words_and_only_inside() {
        assert!(!is_caught());
        assert_eq!(caught(is_caught), Ok(true));
        let what = "of this kind".to_owned();
        assert_eq!(
            caught(|| panic!("no file {what}")),
            Err::<(), _>("no file of this kind".into())
        );
        assert_eq!(caught(|| panic!("plain")), Err::<(), _>("plain".into()));
        assert!(!is_caught());
    }
}
