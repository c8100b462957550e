//! `modelmeter advise -- PROGRAM`: what to do about a program that uses a GPU, and whether it is true.

use crate::{
    Exit, Failure, Sinks,
    arguments::{Advise as Arguments, Global},
    command::gpu,
    output,
};
use ::gpu::{Injection, Wish};
use analysis::advice::{Fix, GPU_RULES, GpuRule, judge_trial};
use engine::private::TemporaryFolder;
use report::ProgramAdvice;
use std::{
    ffi::{OsStr, OsString},
    fs,
    path::Path,
    process::ExitStatus,
    time::Instant,
};
use types::{
    Advice, ExpectedGain, Fine, GpuProfile, Interval, Outcome, Proof, Remark, RemarkCode, Trial,
    TrialVerdict,
};

/// Pairs of processes for each advice: fewer give no interval, and more take long.
const PAIRS: usize = 3;
/// Steps below which a median says nothing.
const FEWEST_STEPS: usize = 8;
/// Seed of the bootstrap: the same times give the same interval.
const SEED: u64 = 0x0067_7075_5f74_7279;

pub(crate) fn run(arguments: &Arguments, global: &Global) -> Result<Exit, Failure> {
    arguments.result.check([])?;
    let folder = TemporaryFolder::make().map_err(|error| {
        Failure::new(Exit::Cannot, "could not make a temporary folder").cause(error.to_string())
    })?;
    let injection = gpu::injection(global)?;
    let program =
        Program { injection: &injection, command: &arguments.program, folder: folder.path() };
    let profile = program.record()?;
    if profile.processes.iter().all(|process| process.devices.is_empty()) {
        let problems = profile.processes.iter().flat_map(|process| &process.problems);
        let why = problems.map(|problem| problem.text.clone()).next();
        let failure = Failure::new(Exit::Untold, "no work of a GPU was recorded");
        let failure = failure.hint("`modelmeter gpu -- PROGRAM` says what was seen");
        return Err(match why {
            Some(why) => failure.cause(report::clean(&why)),
            None => failure,
        });
    }
    let (mut advice, fine) = judge(&profile);
    let begin = Instant::now();
    for (one, rule) in &mut advice {
        let is_wanted = arguments.attempt.iter().any(|name| name == "all" || name == rule.id);
        if !is_wanted {
            continue;
        }
        one.trial = Some(match rule.fix {
            None => untried("the program itself must change"),
            Some(_) if begin.elapsed() > arguments.budget => {
                untried("the time for proofs was used up; give a longer `--budget`")
            }
            Some(fix) => program.attempt(fix, &one.gain, global)?,
        });
    }
    let command: Vec<String> =
        arguments.program.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let advice: Vec<Advice> = advice.into_iter().map(|(one, _)| one).collect();
    let view = ProgramAdvice { command: &command, profile: &profile, advice: &advice, fine: &fine };
    let mut sinks = Sinks::new(global);
    sinks.result(&report::program_advice_document(&view), &arguments.result, Exit::Fine);
    Ok(sinks.finish(Exit::Fine))
}

fn untried(why: &str) -> Trial {
    Trial {
        verdict: TrialVerdict::NotTried,
        found: None,
        interval: None,
        processes: 0,
        remarks: vec![Remark::new(RemarkCode::NotTried, why.to_owned())],
    }
}

/// Advice with its rule, the largest gain first; and what is fine.
fn judge(profile: &GpuProfile) -> (Vec<(Advice, &'static GpuRule)>, Vec<Fine>) {
    let (mut advice, mut fine) = (Vec::new(), Vec::new());
    for rule in &GPU_RULES {
        let Some(mut found) = rule.judge(profile) else { continue };
        let Some(gain) = found.gain else {
            let evidence = found.evidence.swap_remove(0);
            fine.push(Fine { rule: rule.id.into(), evidence });
            continue;
        };
        let why = match rule.fix {
            Some(fix) => format!("`--try={}` runs the program {}", rule.id, fix.words()),
            None => "the program itself must change".into(),
        };
        let one = Advice {
            rule: rule.id.into(),
            title: found.title.into(),
            evidence: found.evidence,
            gain,
            proof: Proof::Elsewhere { why },
            command: None,
            caveat: Some(found.caveat.into()),
            trial: None,
        };
        advice.push((one, rule));
    }
    advice.sort_by(|a, b| b.0.gain.middle().total_cmp(&a.0.gain.middle()));
    (advice, fine)
}

struct Program<'a> {
    injection: &'a Injection,
    command: &'a [OsString],
    folder: &'a Path,
}

impl Program<'_> {
    fn folder(&self, name: &str) -> Result<std::path::PathBuf, Failure> {
        let folder = self.folder.join(name);
        fs::create_dir_all(&folder).map_err(|error| {
            Failure::new(Exit::Cannot, "could not make a temporary folder").cause(error.to_string())
        })?;
        Ok(folder)
    }

    fn start(&self, variables: Vec<(OsString, OsString)>) -> Result<ExitStatus, Failure> {
        // What it prints is talk: the result has standard output.
        gpu::wait(&mut gpu::start(self.command, variables, true)?)
    }

    /// What it does as it is.
    fn record(&self) -> Result<GpuProfile, Failure> {
        let folder = self.folder("recording")?;
        let wish = Wish { modules: true, graphs: true, ..Wish::default() };
        let variables = self.injection.variables(&folder, &wish, |name| std::env::var_os(name));
        let status = self.start(variables)?;
        if !status.success() {
            let text = format!("the program failed ({status}): it is not judged");
            return Err(Failure::new(Exit::Untold, text));
        }
        Ok(gpu::read(&folder)?.1)
    }

    /// The median time of a step, in seconds, without a recording.
    fn step(&self, name: &str, fix: Option<Fix>) -> Result<Option<f64>, Failure> {
        let folder = self.folder(name)?;
        let variable = |name: &str| std::env::var_os(name);
        let variables = self.injection.step_variables(&folder, fix.map(Fix::name), variable);
        let status = self.start(variables)?;
        Ok(if status.success() { median_step(&folder) } else { None })
    }

    /// As it is against changed, in pairs of processes, the order of a pair turned each time.
    fn attempt(&self, fix: Fix, gain: &ExpectedGain, global: &Global) -> Result<Trial, Failure> {
        let mut ratios = Vec::new();
        for pair in 0..PAIRS {
            if !global.quiet {
                output::complain(&format!("trying {}: pair {} of {PAIRS}\n", fix.name(), pair + 1));
            }
            let (mut plain, mut changed) = (None, None);
            for side in [pair % 2, 1 - pair % 2] {
                let name = format!("{}-{pair}-{side}", fix.name());
                match side {
                    0 => plain = self.step(&name, None)?,
                    _ => changed = self.step(&name, Some(fix))?,
                }
            }
            let (Some(plain), Some(changed)) = (plain, changed) else {
                let why = match plain {
                    None => {
                        "the program shows no steps: it calls no module of PyTorch, or too few times"
                    }
                    Some(_) => "the changed program failed, or showed no steps",
                };
                return Ok(Trial { verdict: TrialVerdict::Refused, ..untried(why) });
            };
            ratios.push(vec![(plain / changed).ln()]);
        }
        let estimate = stats::paired_ratio(&ratios, SEED);
        let interval: Option<Interval> = estimate.as_ref().and_then(|one| one.interval);
        let outcome = match interval {
            Some(interval) if interval.low > 1.0 => Outcome::Better,
            Some(interval) if interval.high < 1.0 => Outcome::Worse,
            _ => Outcome::CannotTell,
        };
        let text = format!("the program ran {}", fix.words());
        Ok(Trial {
            verdict: judge_trial(gain, interval, &outcome),
            found: estimate.map(|one| one.ratio),
            interval,
            processes: PAIRS as u64,
            remarks: vec![Remark::new(RemarkCode::TriedOnProgram, text)],
        })
    }
}

/// The median time between two steps of the second half of the process that took most of them: the first half warms up.
fn median_step(folder: &Path) -> Option<f64> {
    let files = fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path());
    let files = files.filter(|path| path.extension() == Some(OsStr::new("steps")));
    let times = |path: std::path::PathBuf| -> Vec<u64> {
        let text = fs::read_to_string(path).unwrap_or_default();
        text.lines().filter_map(|line| line.parse().ok()).collect()
    };
    let longest = files.map(times).max_by_key(Vec::len)?;
    // Nanoseconds, whose median comes in seconds.
    let steps: Vec<u64> = longest
        .windows(2)
        .map(|two| two[1].saturating_sub(two[0]))
        .skip(longest.len() / 2)
        .collect();
    if longest.len() < FEWEST_STEPS {
        return None;
    }
    stats::median(&steps).filter(|time| *time > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_the_median_of_the_second_half() {
        let folder = TemporaryFolder::make().unwrap();
        assert_eq!(median_step(folder.path()), None);
        fs::write(folder.path().join("1.steps"), "1\n2\n3").unwrap();
        assert_eq!(median_step(folder.path()), None, "too few");
        let mut now = 0_u64;
        let times: Vec<String> = (0..20)
            .map(|step| {
                now += if step < 10 { 90_000_000 } else { 10_000_000 };
                now.to_string()
            })
            .collect();
        fs::write(folder.path().join("2.steps"), times.join("\n")).unwrap();
        assert_eq!(median_step(folder.path()), Some(0.010));
    }
}
