//! Compares the outputs of an engine with those of a native one before it is measured, where the engine asks for that: what an inference gives, or
//! the loss and the gradients of a step.

use crate::{
    EngineChoice, Error, Profiler, choose,
    parity::{Sides, hold_within, join_gradients},
    prepare::{self, Prepared},
    scratch::Scratch,
};
use engine::{Engine, EngineError, EngineErrorKind, Takes};
use meter::{Depth, Launch, MeterError, outputs_of};
use number::{percent, scientific};
use std::fmt;
use types::{
    Device, EngineOptions, Event, HostTensor, Mode, OutputParity, Parity, Precision, Remark,
    RemarkCode,
};

/// How far an element of an output in fp32 may lie from the reference's, as a share of the output's scale. The same kernels on
/// another processor are about a tenth of that apart; what rounding explains is accepted beyond it too.
const FP32_LIMIT: f64 = 1e-4;

/// What is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    /// Of an inference.
    Outputs,
    /// Of the first step of a training.
    Gradients,
}

impl What {
    fn depth(self) -> Depth {
        match self {
            What::Outputs => Depth::Outputs,
            What::Gradients => Depth::Gradients,
        }
    }
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            What::Outputs => "outputs",
            What::Gradients => "loss and gradients",
        })
    }
}

/// One of the two.
struct Side {
    profiler: Profiler,
    ready: Prepared,
    launch: Launch,
    outputs: Vec<HostTensor>,
}

/// What the comparison says; `None` where the engine asks for none, or the model is not run as it is.
pub(crate) fn check(
    profiler: &Profiler,
    prepared: &Prepared,
    sink: &mut dyn FnMut(Event),
) -> Result<Option<Remark>, Error> {
    let Some(preferred) = prepared.engine.native_reference() else { return Ok(None) };
    let what = match prepared.cell.mode {
        Mode::Inference => What::Outputs,
        Mode::Training => What::Gradients,
        Mode::Generate | Mode::Load => return Ok(None),
    };
    let not_compared = |why: String| {
        let text = format!("{what} were not compared with those of a native engine: {why}");
        Ok(Some(Remark::new(RemarkCode::OutputsNotCompared, text)))
    };
    let Some(reference) = reference(preferred, profiler, prepared) else {
        return not_compared("none is here".to_owned());
    };
    let folder = Scratch::make("the outputs", 0)?;
    let native = Profiler {
        engine: EngineChoice::Named(reference.id().to_owned()),
        device: Device::Cpu,
        options: EngineOptions::default(),
        program: None,
        ..profiler.clone()
    };
    let side = |profiler: &Profiler, sink: &mut dyn FnMut(Event)| -> Result<Side, Error> {
        let ready = prepare::prepare(profiler, sink)?;
        let launch = profiler.launch(&ready)?;
        let refine = |seen: &[(String, Vec<usize>)]| ready.count_again(seen);
        let timeout = profiler.rule.timeout;
        let outputs =
            outputs_of(&ready.job(&refine), &launch, timeout, folder.path(), what.depth())?;
        Ok(Side { profiler: profiler.clone(), ready, launch, outputs })
    };
    let native = match side(&native, sink) {
        Ok(native) => native,
        // An engine that does not run the model cannot say what its answers are.
        Err(error) => return not_compared(format!("`{}` failed: {error}", reference.id())),
    };
    let measured = side(profiler, sink)?;
    let parity = compare(native, measured, what, folder.path());
    let cell = &prepared.cell;
    judge(reference.id(), (&cell.model, &cell.engine, cell.device), what, &parity)
}

fn compare(native: Side, measured: Side, what: What, folder: &std::path::Path) -> Vec<Parity> {
    let labels = [native.ready.cell.engine.clone(), measured.ready.cell.engine.clone()];
    let timeout = measured.profiler.rule.timeout;
    let precision = measured.ready.cell.precision;
    let sides = Sides {
        profilers: &[&native.profiler, &measured.profiler],
        prepared: &[native.ready, measured.ready],
        labels: &labels,
        launches: &[native.launch, measured.launch],
        baseline: 0,
        rows: &[],
        timeout,
        folder,
    };
    let limit = (precision == Precision::Fp32).then_some(FP32_LIMIT);
    let outputs = [Some(native.outputs), Some(measured.outputs)];
    match what {
        What::Outputs => hold_within(&sides, &outputs, limit),
        What::Gradients => hold_within(&sides, &join_gradients(&outputs), limit),
    }
}

/// The engine that is asked for; else the first engine in the list that runs this model on the processor.
fn reference(
    preferred: &str,
    profiler: &Profiler,
    prepared: &Prepared,
) -> Option<&'static dyn Engine> {
    let precision = prepared.cell.precision;
    let runs = |engine: &&'static dyn Engine| {
        engine.id() != prepared.engine.id()
            && engine.takes() == Takes::Onnx
            && (prepared.cell.mode != Mode::Training || engine.training().is_some())
            && choose::refusal(*engine, Device::Cpu, precision, &profiler.places).is_none()
    };
    let preferred = profiler.engines.find(preferred).filter(runs);
    preferred.or_else(|| profiler.engines.iter().find(runs))
}

/// A remark with the largest difference, or the error that nothing was measured for.
fn judge(
    reference: &str,
    (model, engine, device): (&str, &str, Device),
    what: What,
    parity: &[Parity],
) -> Result<Option<Remark>, Error> {
    let outputs: Vec<&OutputParity> = parity.iter().flat_map(|one| &one.outputs).collect();
    if let Some(broken) = outputs.iter().find(|output| !output.holds) {
        let message =
            format!("engine `{engine}` gives other {what} than `{reference}`, so it was not timed");
        let why = broken.why.clone().unwrap_or_else(|| match (broken.max_abs, broken.tolerance) {
            (Some(found), Some(limit)) => {
                format!("it differs by {}, the limit is {}", scientific(found), scientific(limit))
            }
            _ => "it differs".to_owned(),
        });
        let mode = if what == What::Gradients { " --modes training" } else { "" };
        let error = EngineError::new(EngineErrorKind::Failed, message)
            .with_source(format!("`{}`: {why}", broken.output))
            .with_hint(format!(
                "`modelmeter compare {model} --engines {reference},{engine}:{device}{mode}` measures both and shows the difference"
            ));
        return Err(MeterError::from(error).into());
    }
    let largest = outputs.iter().filter_map(|output| output.max_abs).fold(0.0, f64::max);
    // Of the output that came nearest to its limit.
    let share = |output: &&OutputParity| Some(output.max_abs? / output.tolerance?);
    let nearest = outputs.iter().filter_map(share).filter(|share| share.is_finite());
    let of_limit = match nearest.reduce(f64::max) {
        Some(share) => format!(", {} of the limit", percent(share)),
        None => String::new(),
    };
    let text =
        format!("its {what} equal those of `{reference}` (max {}{of_limit})", scientific(largest));
    Ok(Some(Remark::new(RemarkCode::OutputsCompared, text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parity(holds: bool) -> Parity {
        let output = OutputParity {
            output: "y".into(),
            max_abs: Some(2e-6),
            cosine: None,
            error: None,
            tolerance: Some(1e-5),
            rounding: None,
            holds,
            undecided: false,
            why: None,
            note: None,
        };
        Parity {
            side: "page".into(),
            reference: "native".into(),
            holds,
            outputs: vec![output],
            first_difference: None,
        }
    }

    #[test]
    fn equal_outputs_are_a_remark_and_others_an_error() {
        let page = ("m", "page", Device::Wasm);
        let remark = judge("native", page, What::Outputs, &[parity(true)]).unwrap().unwrap();
        assert_eq!(remark.code, RemarkCode::OutputsCompared);
        assert!(remark.text.contains("`native` (max 2"), "{}", remark.text);
        assert!(remark.text.contains("20 % of the limit"), "{}", remark.text);
        let error = judge("native", page, What::Outputs, &[parity(false)]).unwrap_err();
        assert!(error.to_string().contains("was not timed"), "{error}");
        let text = format!("{error:?}");
        assert!(text.contains("the limit is 1.0e-5"), "{text}");
        assert!(text.contains("compare m --engines native,page:wasm`"), "{text}");
        let step = What::Gradients;
        let remark = judge("native", page, step, &[parity(true)]).unwrap().unwrap();
        assert!(remark.text.starts_with("its loss and gradients equal"), "{}", remark.text);
        let error = judge("native", page, step, &[parity(false)]).unwrap_err();
        assert!(format!("{error:?}").contains("page:wasm --modes training`"), "{error:?}");
    }
}
