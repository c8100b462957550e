//! Holds the outputs of all sides against the baseline's before anything is timed.

use crate::{Profiler, prepare::Prepared, rounding};
use analysis::{
    DIFFERENT_BELOW, Difference, Floor, Repeated, Ruling, Tolerance, compare_draws, differences,
    part,
};
use graph::RandomOutput;
use meter::{Launch, repeated_outputs_of};
use number::{fixed, scientific};
use std::{path::Path, time::Duration};
use types::{Agreement, Cell, Elements, HostTensor, Mode, OutputParity, Parity};

/// How often a computation with random operators runs before its distribution is judged: the fewest runs with which one
/// deal in 1,000 can be told from chance with room (two groups of 8 are dealt in 12,870 ways).
const DRAWS: usize = 8;

/// The output of a model that generates with the tokens it wrote.
const WRITTEN: &str = "tokens";

/// The sides of a duel as far as their outputs are concerned.
pub(crate) struct Sides<'a> {
    pub(crate) profilers: &'a [&'a Profiler],
    pub(crate) prepared: &'a [Prepared],
    pub(crate) labels: &'a [String],
    pub(crate) launches: &'a [Launch],
    pub(crate) baseline: usize,
    /// Where each side's rows begin in the baseline's.
    pub(crate) rows: &'a [usize],
    pub(crate) timeout: Duration,
    /// For files that pass between processes.
    pub(crate) folder: &'a Path,
}

/// Whether two cells have rows of the same number and length, so that their outputs have one shape.
pub(crate) fn has_same_rows(a: &Cell, b: &Cell) -> bool {
    (a.batch_size, a.sequence_length) == (b.batch_size, b.sequence_length)
}

/// The outputs of both that lie in rows and columns both have; `row` is where the second one's rows begin in the first.
fn common(a: &[HostTensor], b: &[HostTensor], row: usize) -> (Vec<HostTensor>, Vec<HostTensor>) {
    let mut both = (Vec::new(), Vec::new());
    for first in a {
        let Some(second) = b.iter().find(|other| other.name == first.name) else { continue };
        let begins = |axis: usize| if axis == 0 { row } else { 0 };
        let sizes = first.dims.iter().zip(&second.dims).enumerate();
        let dims: Vec<usize> =
            sizes.map(|(axis, (a, b))| a.saturating_sub(begins(axis)).min(*b)).collect();
        let parts = part(first, row, &dims).zip(part(second, 0, &dims));
        // What cannot be cut is left whole, and its shape then says that it differs.
        let (first, second) = parts.unwrap_or_else(|| (first.clone(), second.clone()));
        both.0.push(first);
        both.1.push(second);
    }
    both
}

/// The loss, and all gradients as one tensor: a gradient that is zero but for rounding has no direction of its own.
///
/// Those that a side has and another has not are left out; a weight that one of them does not train has none.
pub(crate) fn join_gradients(shown: &[Option<Vec<HostTensor>>]) -> Vec<Option<Vec<HostTensor>>> {
    let has = |tensors: &Vec<HostTensor>, name: &str| tensors.iter().any(|t| t.name == name);
    let of_all = |name: &str| shown.iter().flatten().all(|tensors| has(tensors, name));
    let join = |tensors: &Vec<HostTensor>| {
        let mut tensors: Vec<&HostTensor> = tensors.iter().filter(|t| of_all(&t.name)).collect();
        tensors.sort_by(|a, b| a.name.cmp(&b.name));
        let (losses, gradients): (Vec<&HostTensor>, Vec<&HostTensor>) =
            tensors.into_iter().partition(|tensor| tensor.name == "loss");
        let mut all = Vec::with_capacity(gradients.iter().map(|t| t.elements.len()).sum());
        for gradient in gradients {
            if let Elements::F32(values) = &gradient.elements {
                all.extend_from_slice(values);
            }
        }
        let (dims, elements) = (vec![all.len()], Elements::F32(all));
        let all = HostTensor { name: "gradients".into(), dims, elements };
        losses.into_iter().cloned().chain([all]).collect()
    };
    shown.iter().map(|tensors| tensors.as_ref().map(join)).collect()
}

/// Whether two sides are the same model on the same engine with the same settings.
pub(crate) fn is_same_computation(a: &Prepared, b: &Prepared) -> bool {
    let settings = |ready: &Prepared| {
        let cell = &ready.cell;
        (cell.engine.clone(), cell.device, cell.precision, cell.threads, cell.options.clone())
    };
    a.model_info().fingerprint == b.model_info().fingerprint
        && a.cell.mode == b.cell.mode
        && settings(a) == settings(b)
}

/// Holds every side's outputs against the baseline's.
///
/// Sides with other batch sizes or lengths are compared with what both have.
pub(crate) fn hold_against(sides: &Sides<'_>, outputs: &[Option<Vec<HostTensor>>]) -> Vec<Parity> {
    hold_within(sides, outputs, None)
}

/// The same, where elements may differ by this share of their output's scale at most, if their formats allow no less.
pub(crate) fn hold_within(
    sides: &Sides<'_>,
    outputs: &[Option<Vec<HostTensor>>],
    limit: Option<f64>,
) -> Vec<Parity> {
    let Some(reference) = &outputs[sides.baseline] else { return Vec::new() };
    let mut all = Vec::new();
    for (place, tensors) in outputs.iter().enumerate() {
        let Some(tensors) = tensors.as_ref().filter(|_| place != sides.baseline) else { continue };
        let pair = Pair { sides, place, outputs, limit };
        let mut held = match pair.generates() {
            true => pair.hold_written(reference, tensors),
            false => pair.hold(reference, tensors),
        };
        if held.is_empty() {
            let first = reference.first().map(|tensor| tensor.name.clone()).unwrap_or_default();
            held.push(refused(first, "the two have no output in common".into(), false));
        }
        let mut parity = Parity {
            side: sides.labels[place].clone(),
            reference: sides.labels[sides.baseline].clone(),
            holds: held.iter().all(|output| output.holds),
            outputs: held,
            first_difference: None,
        };
        let [a, b] = pair.ready();
        if parity.agreement() == Agreement::Different && is_same_computation(a, b) {
            let text = "the same model on the same engine: its outputs differ from run to run";
            for output in parity.outputs.iter_mut().filter(|output| !output.holds) {
                output.note = Some(text.into());
            }
        }
        all.push(parity);
    }
    all
}

/// The baseline and one other side.
struct Pair<'s, 'a> {
    sides: &'s Sides<'a>,
    place: usize,
    outputs: &'s [Option<Vec<HostTensor>>],
    /// Largest difference of an element as a share of its output's scale, where one was set.
    limit: Option<f64>,
}

impl Pair<'_, '_> {
    fn ready(&self) -> [&Prepared; 2] {
        [self.sides.baseline, self.place].map(|place| &self.sides.prepared[place])
    }

    fn generates(&self) -> bool {
        self.ready().iter().any(|ready| ready.cell.mode == Mode::Generate)
    }

    /// Scores are held against each other; what was written is counted and not judged: where two tokens are as good as equal,
    /// rounding chooses, and all that follows is another text.
    fn hold_written(&self, reference: &[HostTensor], tensors: &[HostTensor]) -> Vec<OutputParity> {
        let is_scores = |tensor: &&HostTensor| tensor.name != WRITTEN;
        let scores = |all: &[HostTensor]| -> Vec<HostTensor> {
            all.iter().filter(is_scores).cloned().collect()
        };
        let mut held = self.hold(&scores(reference), &scores(tensors));
        let written = |all: &[HostTensor]| {
            all.iter().find(|tensor| !is_scores(tensor)).map(|tensor| tensor.elements.clone())
        };
        if let (Some(Elements::I64(a)), Some(Elements::I64(b))) =
            (written(reference), written(tensors))
            && let Some(scores) = held.first_mut().filter(|scores| scores.holds)
        {
            let equal = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
            let text = match equal == a.len() {
                true => format!("all {} greedy tokens are equal", a.len()),
                false => format!(
                    "{equal} of {} greedy tokens are equal before the first other one",
                    a.len()
                ),
            };
            scores.note = Some(match scores.note.take() {
                Some(note) => format!("{note}; {text}"),
                None => text,
            });
        }
        held
    }

    fn hold(&self, reference: &[HostTensor], tensors: &[HostTensor]) -> Vec<OutputParity> {
        let [a, b] = self.ready();
        let mut tolerance = Tolerance::of(a.cell.precision, b.cell.precision);
        tolerance.difference = tolerance.difference.min(self.limit.unwrap_or(f64::INFINITY));
        let found = if has_same_rows(&a.cell, &b.cell) {
            differences(reference, tensors)
        } else {
            let row = self.sides.rows.get(self.place).copied().unwrap_or(0);
            let (reference, tensors) = common(reference, tensors, row);
            differences(&reference, &tensors)
        };
        let random = self.random();
        let draw_of = |difference: &Difference| {
            random.iter().find(|random| random.output == difference.output)
        };
        let is_open = |difference: &&Difference| {
            difference.rule(&tolerance, None) == Ruling::Different
                && difference.unlike.is_none()
                && draw_of(difference).is_none()
        };
        let floors = match found.iter().any(|difference| is_open(&difference)) {
            true => self.floors(),
            false => Vec::new(),
        };
        let differs = |difference: &&Difference| difference.changed > 0.0;
        let drawn = match found.iter().filter(differs).any(|d| draw_of(d).is_some()) {
            true => self.draw(),
            false => None,
        };
        let each = found.iter().map(|difference| match draw_of(difference) {
            Some(random) if difference.changed > 0.0 => judge_draws(random, drawn.as_ref()),
            _ => {
                let floor = floors.iter().find(|(name, _)| *name == difference.output);
                judge(difference, &tolerance, floor.map(|(_, floor)| floor))
            }
        });
        each.collect()
    }

    fn trains(&self) -> bool {
        self.ready().iter().any(|ready| ready.cell.mode == Mode::Training)
    }

    /// The outputs that random operators of either side reach.
    fn random(&self) -> Vec<RandomOutput> {
        self.ready().iter().flat_map(|ready| graph::random_outputs(ready.graph())).collect()
    }

    /// How far rounding moves each output; a training has no graph of its own that could be run so.
    fn floors(&self) -> Vec<(String, Floor)> {
        if self.trains() || self.generates() {
            return Vec::new();
        }
        rounding::floors(self.sides, self.place, self.outputs)
    }

    /// Several runs of both sides; `None` if their outputs cannot be laid on each other.
    fn draw(&self) -> Option<[Vec<Vec<HostTensor>>; 2]> {
        let [a, b] = self.ready();
        if self.trains() || !has_same_rows(&a.cell, &b.cell) {
            return None;
        }
        let runs = |place: usize| {
            let ready = &self.sides.prepared[place];
            let refine = |seen: &[(String, Vec<usize>)]| ready.count_again(seen);
            let (launch, timeout) = (&self.sides.launches[place], self.sides.timeout);
            repeated_outputs_of(&ready.job(&refine), launch, timeout, self.sides.folder, DRAWS).ok()
        };
        Some([runs(self.sides.baseline)?, runs(self.place)?])
    }
}

/// What is said of an output that only constants and inputs reach.
fn judge(difference: &Difference, tolerance: &Tolerance, floor: Option<&Floor>) -> OutputParity {
    let ruling = difference.rule(tolerance, floor);
    let comparable = difference.unlike.is_none() && ruling != Ruling::Undecided;
    let holds = matches!(ruling, Ruling::Equal | Ruling::Rounding);
    let mut notes: Vec<String> = difference.note().into_iter().collect();
    if let (Ruling::Rounding, Some(floor)) = (ruling, floor) {
        let Difference { max_abs, magnitude, .. } = difference;
        notes.push(format!(
            "differs by {} at a scale of {}; rounding explains up to {}",
            scientific(*max_abs),
            scientific(*magnitude),
            scientific(floor.explains())
        ));
    }
    OutputParity {
        output: difference.output.clone(),
        max_abs: comparable.then_some(difference.max_abs),
        cosine: comparable.then_some(difference.cosine),
        error: difference.relative_norm().filter(|_| comparable),
        tolerance: difference.allowed(tolerance),
        rounding: floor.map(Floor::explains),
        holds,
        undecided: ruling == Ruling::Undecided,
        why: if holds { None } else { difference.reason(tolerance) },
        note: (holds && !notes.is_empty()).then(|| notes.join("; ")),
    }
}

/// What is said of an output that random numbers reach.
fn judge_draws(random: &RandomOutput, drawn: Option<&[Vec<Vec<HostTensor>>; 2]>) -> OutputParity {
    let RandomOutput { output, node, op_type } = random;
    let source = format!("it contains random numbers of `{op_type}` (`{node}`)");
    let of = |runs: &Vec<Vec<HostTensor>>| -> Vec<HostTensor> {
        let named = |run: &Vec<HostTensor>| run.iter().find(|t| t.name == *output).cloned();
        runs.iter().filter_map(named).collect()
    };
    let found = drawn.map(|[reference, other]| compare_draws(&of(reference), &of(other)));
    match found {
        Some(Repeated::Chance(chance)) if chance >= DIFFERENT_BELOW => OutputParity {
            holds: true,
            undecided: false,
            note: Some(format!(
                "{source}: compared as distributions over {DRAWS} runs per side (p = {})",
                fixed(chance, 2)
            )),
            why: None,
            ..refused(output.clone(), String::new(), false)
        },
        Some(Repeated::Chance(chance)) => {
            let why = format!(
                "{source}: different distributions over {DRAWS} runs per side (p = {})",
                scientific(chance)
            );
            refused(output.clone(), why, false)
        }
        Some(Repeated::Fixed) => {
            let why = format!("{source}, with a fixed seed that engines read differently");
            refused(output.clone(), why, true)
        }
        Some(Repeated::Unlike) => {
            let why = format!("{source}, and its runs differ in shape or are not finite");
            refused(output.clone(), why, true)
        }
        None => refused(output.clone(), format!("{source}, and it could not be run again"), true),
    }
}

fn refused(output: String, why: String, undecided: bool) -> OutputParity {
    OutputParity {
        output,
        max_abs: None,
        cosine: None,
        error: None,
        tolerance: None,
        rounding: None,
        holds: false,
        undecided,
        why: Some(why),
        note: None,
    }
}
