//! `modelmeter completions`: for a shell, from the same arguments.

use crate::{
    Exit, Failure,
    arguments::{Arguments, Completions},
    output,
};
use clap::CommandFactory;

pub(crate) fn run(arguments: &Completions) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Arguments::command(), "modelmeter", &mut script);
    output::data(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Fine)
}
