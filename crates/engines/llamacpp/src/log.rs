//! What the library would print: its complaints are kept, the rest is dropped.

use crate::api::{self, Text};
use std::{
    ffi::{c_int, c_void},
    sync::{Mutex, PoisonError},
};

/// The number of an error among llama.cpp's levels (`GGML_LOG_LEVEL_ERROR`).
const ERROR: c_int = 4;

/// How many complaints are kept: those of one failure, not of a long life.
const KEPT: usize = 8;

static COMPLAINTS: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Takes one message.
///
/// # Safety
/// The text must end with a zero, as llama.cpp's do.
pub(crate) unsafe extern "C" fn listen(level: c_int, text: Text, _: *mut c_void) {
    if level != ERROR {
        return;
    }
    // SAFETY: the caller promises the zero.
    let text = unsafe { api::copied(text) };
    let mut complaints = COMPLAINTS.lock().unwrap_or_else(PoisonError::into_inner);
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        if complaints.len() == KEPT {
            complaints.remove(0);
        }
        complaints.push(line.to_owned());
    }
}

/// Forgets all complaints; what comes next belongs to what is done next.
pub(crate) fn forget() {
    COMPLAINTS.lock().unwrap_or_else(PoisonError::into_inner).clear();
}

/// What the library complained about first since it was told to forget: the later ones say only what failed because of it.
pub(crate) fn complaint() -> Option<String> {
    let complaints = COMPLAINTS.lock().unwrap_or_else(PoisonError::into_inner);
    complaints.first().map(|line| without_function(line).to_owned())
}

/// Whether one of them is about memory that was not to be had.
pub(crate) fn is_about_memory() -> bool {
    let complaints = COMPLAINTS.lock().unwrap_or_else(PoisonError::into_inner);
    complaints.iter().any(|line| line.contains("alloc"))
}

/// A message without the name of the function that it begins with: `llama_model_load: error loading model: …`.
fn without_function(line: &str) -> &str {
    let is_name = |text: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    match line.split_once(": ") {
        Some((function, rest)) if is_name(function) => rest,
        _ => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_function_is_left_out() {
        assert_eq!(without_function("llama_model_load: error: x"), "error: x");
        assert_eq!(without_function("no function: x"), "no function: x");
        assert_eq!(without_function("plain"), "plain");
    }
}
