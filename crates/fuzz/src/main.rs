//! The command: `modelmeter-fuzz [--cases N] [--seed N] [--target NAME] [--keep FOLDER] [--jobs N]`.

use modelmeter_fuzz::{
    CountingAllocator, Hunt, TARGETS, Tally, Target, case_bytes, hunt, replay_file, serve,
};
use std::{
    io::{self, Write},
    path::{Path, PathBuf},
    process::ExitCode,
};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match words.as_slice() {
        ["child", target, seed, from, to, standing] => child(target, [seed, from, to], standing),
        ["replay", target, files @ ..] => return replay(target, files),
        ["case", target, seed, number, file] => write_case(target, seed, number, file),
        ["list"] => list(),
        rest => return run(rest),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => refuse(&error.to_string()),
    }
}

fn refuse(why: &str) -> ExitCode {
    let _ = writeln!(io::stderr(), "error: {why}");
    ExitCode::from(2)
}

fn child(target: &str, numbers: [&str; 3], standing: &str) -> io::Result<()> {
    let target = Target::find(target).ok_or_else(|| io::Error::other("no such target"))?;
    let number = |text: &str| text.parse().map_err(io::Error::other);
    let [seed, from, to] = numbers;
    serve(target, number(seed)?, number(from)?, number(to)?, Path::new(standing))
}

/// Writes one case as it would be run.
fn write_case(target: &str, seed: &str, number: &str, file: &str) -> io::Result<()> {
    let target = Target::find(target).ok_or_else(|| io::Error::other("no such target"))?;
    let numbers = [seed, number].map(|text| text.parse().map_err(io::Error::other));
    let [seed, number] = numbers;
    std::fs::write(file, case_bytes(target, seed?, number?))
}

fn list() -> io::Result<()> {
    let mut out = io::stdout().lock();
    TARGETS.iter().try_for_each(|target| writeln!(out, "{:<22}{}", target.name, target.what))
}

fn replay(target: &str, files: &[&str]) -> ExitCode {
    let Some(target) = Target::find(target) else { return refuse("no such target") };
    let mut status = ExitCode::SUCCESS;
    for file in files {
        match replay_file(target, Path::new(file)) {
            Ok(outcome) => {
                let _ = writeln!(io::stdout(), "{file}: {outcome:?}");
            }
            Err(what) => {
                let _ = writeln!(io::stderr(), "{what}");
                status = ExitCode::from(1);
            }
        }
    }
    status
}

fn run(words: &[&str]) -> ExitCode {
    let Ok(program) = std::env::current_exe() else { return refuse("where is this program?") };
    let mut asked = Hunt {
        program,
        targets: Vec::new(),
        cases: 2_000,
        seed: 1,
        keep: None,
        jobs: std::thread::available_parallelism().map_or(1, usize::from),
    };
    for pair in words.chunks(2) {
        let [option, value] = pair else { return refuse("every option takes a value") };
        let number = value.parse::<u64>();
        match (*option, number) {
            ("--cases", Ok(number)) => asked.cases = number,
            ("--seed", Ok(number)) => asked.seed = number,
            ("--jobs", Ok(number)) => asked.jobs = number as usize,
            ("--target", _) if Target::find(value).is_some() => {
                asked.targets.push((*value).to_owned());
            }
            ("--keep", _) => asked.keep = Some(PathBuf::from(value)),
            _ => {
                return refuse(&format!(
                    "`{option} {value}` is not understood\nhint: cargo run -p modelmeter-fuzz -- list"
                ));
            }
        }
    }
    match hunt(&asked, &tell) {
        Ok(tallies) if tallies.iter().flat_map(|t| &t.findings).all(|f| f.expected.is_some()) => {
            ExitCode::SUCCESS
        }
        Ok(_) => ExitCode::from(1),
        Err(error) => refuse(&error.to_string()),
    }
}

fn tell(tally: &Tally) {
    let seconds = tally.took.as_secs_f64();
    let mut out = io::stdout().lock();
    let _ = writeln!(
        out,
        "{:<22}{:>10} cases {:>9.0} a second {:>4.0} % read {:>3} findings",
        tally.target,
        tally.run,
        tally.run as f64 / seconds.max(1e-9),
        100.0 * tally.accepted as f64 / tally.run.max(1) as f64,
        tally.findings.len(),
    );
    for finding in &tally.findings {
        let expected = finding.expected.map(|why| format!(" (expected: {why})"));
        let _ = writeln!(
            out,
            "  case {}: {}{}",
            finding.case,
            finding.what,
            expected.unwrap_or_default()
        );
    }
    let _ = out.flush();
}
