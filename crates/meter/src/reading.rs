//! Has a worker read what lies beside a model: a tokenizer, pictures, recordings, pickles. No run is behind it, and nothing is
//! timed; the worker is there so that a hostile file costs a worker and not the measurement.

use crate::{Launch, Link, MeterError};
use engine::{Reply, Request, TextJob, TextReport, read_tensors};
use std::{fs, path::Path, time::Duration};
use types::{HostTensor, InputSpec, MediaJob};

/// How long texts are as a tokenizer's tokens, and which tokens they are where that is wanted.
///
/// # Errors
/// When the tokenizer cannot be read, or the worker fails.
pub fn measure_text(
    launch: &Launch,
    timeout: Duration,
    text: TextJob,
    longest: Option<usize>,
    with_tokens: bool,
) -> Result<TextReport, MeterError> {
    let doing = "read the tokenizer";
    let mut link = Link::open(launch, timeout)?;
    let report = match link.ask(&Request::Encode { text, longest, with_tokens }, doing)? {
        Reply::Encoded { report } => report,
        other => return Err(out_of_turn(doing, &other)),
    };
    link.close();
    Ok(report)
}

/// The input that pictures or recordings become.
///
/// # Errors
/// When a file cannot be read, or the worker fails.
pub fn make_media(
    launch: &Launch,
    timeout: Duration,
    media: &MediaJob,
    inputs: &[InputSpec],
    folder: &Path,
) -> Result<Option<HostTensor>, MeterError> {
    let doing = "prepare the files";
    let mut link = Link::open(launch, timeout)?;
    let path = folder.join("made.safetensors");
    let request = Request::Make {
        media: Box::new(media.clone()),
        inputs: inputs.to_vec(),
        path: path.clone(),
    };
    match link.ask(&request, doing)? {
        Reply::Written => {}
        other => return Err(out_of_turn(doing, &other)),
    }
    link.close();
    let made = read_tensors(&path).map_err(MeterError::from)?;
    // It goes with its folder otherwise.
    let _ = fs::remove_file(&path);
    Ok(made.into_iter().next())
}

/// Has an engine's worker write the tensors of a folder's pickles into a file, as safetensors.
///
/// # Errors
/// When the pickles cannot be read, or the worker fails.
pub fn unpickle(
    launch: &Launch,
    timeout: Duration,
    folder: &Path,
    path: &Path,
) -> Result<(), MeterError> {
    let doing = "read the pickled weights";
    let mut link = Link::open(launch, timeout)?;
    let request = Request::Unpickle { folder: folder.to_owned(), path: path.to_owned() };
    match link.ask(&request, doing)? {
        Reply::Written => {}
        other => return Err(out_of_turn(doing, &other)),
    }
    link.close();
    Ok(())
}

fn out_of_turn(doing: &'static str, reply: &Reply) -> MeterError {
    MeterError::Protocol { doing, said: format!("{reply:?}").chars().take(200).collect() }
}
