//! `modelmeter prune`: leaves weights, heads or neurons out, and says whether that helped.

use crate::{
    Exit, Failure,
    arguments::{AlsoArgument, Global, MethodArgument, Prune, ScheduleArgument},
    command::proof::{Proving, texts},
};
use modelmeter::{Also, Pruner, PruningConfig, PruningMethod, Schedule};

/// The share that goes where nobody says otherwise.
const USUAL: f64 = 0.5;
/// The groups that sparse tensor cores know.
const USUAL_PATTERN: (usize, usize) = (2, 4);

pub(crate) fn run(arguments: &Prune, global: &Global) -> Result<Exit, Failure> {
    let config = config(arguments)?;
    let proving = Proving {
        model: arguments.model.name().unwrap_or_default(),
        proof: &arguments.proof,
        timed: !arguments.place.no_proof,
    };
    proving.run(global, |profiler, sink| {
        Pruner::new(config).prune(profiler, &arguments.place.output, arguments.place.force, sink)
    })
}

fn config(arguments: &Prune) -> Result<PruningConfig, Failure> {
    let wrong = |text: String| Failure::new(Exit::Wrong, text);
    let (keep, of) = arguments.pattern.unwrap_or(USUAL_PATTERN);
    let method = match arguments.method {
        MethodArgument::Magnitude => PruningMethod::Magnitude,
        MethodArgument::GlobalMagnitude => PruningMethod::GlobalMagnitude,
        MethodArgument::Structured => PruningMethod::Structured,
        MethodArgument::Random => PruningMethod::Random,
        MethodArgument::NM => PruningMethod::Groups { keep, of },
    };
    if arguments.pattern.is_some() && arguments.method != MethodArgument::NM {
        return Err(wrong("`--pattern` is for `--method n-m`".into()));
    }
    if arguments.method == MethodArgument::NM {
        let said = 1.0 - keep as f64 / of.max(1) as f64;
        if arguments.sparsity.is_some_and(|asked| (asked - said).abs() > 1e-6) {
            let text = format!("the pattern {keep}:{of} decides the sparsity; omit `--sparsity`");
            return Err(wrong(text));
        }
    }
    Ok(PruningConfig {
        method,
        sparsity: arguments.sparsity.unwrap_or(USUAL),
        layers: arguments.layers.clone(),
        exclude: arguments.exclude.clone(),
        also: arguments.also.iter().map(also).collect(),
        schedule: match arguments.schedule {
            ScheduleArgument::OneShot => Schedule::OneShot,
            ScheduleArgument::Gradual => Schedule::Gradual { steps: arguments.steps },
        },
        calibrate: texts(arguments.calibrate.as_deref())?,
        seed: arguments.proof.workload.inputs.seed.value(),
    })
}

fn also(argument: &AlsoArgument) -> Also {
    match argument {
        AlsoArgument::Embeddings => Also::Embeddings,
        AlsoArgument::Norms => Also::Norms,
    }
}
