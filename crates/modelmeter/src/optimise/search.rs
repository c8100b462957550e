//! Tries several changes and keeps the best that does not drift too far.

use super::{
    Changed, Prover, Pruner, PruningConfig, QuantizationConfig, Quantizer, prover::UNCOMPARED,
};
use crate::{Error, Profiler, Session, forecast, prepare, scratch::Scratch};
use graph::PruneMethod;
use models::{Export, Unfinished, replace_folder};
use number::fixed;
use std::{
    fs,
    path::{Path, PathBuf},
    time::Instant,
};
use types::{
    Attempt, AttemptRefusal, AttemptRefusalKind, Event, Interval, OptimizeReport, Precision,
    ProofReport, SpeedProof, SpeedVerdict, Target,
};

/// Shares of heads and neurons that are tried.
const SHARES: [f64; 3] = [0.1, 0.2, 0.3];

/// Looks for the change that makes a model faster or smaller without moving its answers too far.
#[derive(Debug, Clone)]
pub struct Optimizer {
    target: Target,
    max_drift: f64,
    calibrate: Vec<String>,
    engine: Option<String>,
    prover: Prover,
}

/// What may be tried: a change, or two one after the other.
#[derive(Clone)]
enum Try {
    Prune(PruningConfig),
    Quantize(QuantizationConfig),
    Both(PruningConfig, QuantizationConfig),
}

impl Optimizer {
    /// A search for this, with answers that move by no more than `max_drift` (one minus the cosine).
    #[must_use]
    pub fn new(target: Target, max_drift: f64) -> Optimizer {
        let (calibrate, engine) = (Vec::new(), None);
        Optimizer { target, max_drift, calibrate, engine, prover: Prover::new() }
    }

    /// Weighs in the activations of these texts, and tries int8 with ranges fixed by them too.
    #[must_use]
    pub fn calibrate(mut self, texts: impl IntoIterator<Item = String>) -> Optimizer {
        self.calibrate = texts.into_iter().collect();
        self
    }

    /// Measures on this engine; the first that can unless said.
    #[must_use]
    pub fn engine(mut self, engine: impl Into<String>) -> Optimizer {
        self.engine = Some(engine.into());
        self
    }

    /// How the proofs are made.
    #[must_use]
    pub fn prover(mut self, prover: Prover) -> Optimizer {
        self.prover = prover;
        self
    }

    /// Tries everything that can be measured; the best is left in `folder` where one is given.
    ///
    /// # Errors
    /// Where the model cannot be had or no engine runs it, or the folder cannot be written.
    pub fn optimize(
        &self,
        model: &Profiler,
        folder: Option<&Path>,
        replace: bool,
        session: &mut Session,
        sink: &mut dyn FnMut(Event),
    ) -> Result<OptimizeReport, Error> {
        if !(0.0..=2.0).contains(&self.max_drift) {
            return Err(Error::Rule(
                "the drift is one minus the cosine: a number from 0 to 2".into(),
            ));
        }
        if let Some(folder) = folder {
            Export::check(folder, replace)?;
        }
        let (started_at, begin) = (clock::now(), Instant::now());
        let model = match &self.engine {
            Some(engine) => model.clone().engine(engine.as_str()),
            None => model.clone(),
        };
        let ready = prepare::prepare(&model, sink)?;
        let engine = ready.cell.engine.clone();
        let info = ready.model_info().clone();
        // Beside its place, so that the winner only has to be renamed.
        let scratch = Scratch::make("the models that are tried", 0)?;
        let parent = match folder.and_then(Path::parent) {
            Some(parent) if parent.as_os_str().is_empty() => PathBuf::from("."),
            Some(parent) => parent.to_owned(),
            None => scratch.path().to_owned(),
        };
        let failed = |source| Error::Write { path: parent.clone(), source };
        fs::create_dir_all(&parent).map_err(failed)?;
        let space = Unfinished::create(&parent, "search").map_err(failed)?;
        let prover = self.prover.clone().engines([engine.clone()]);
        let mut attempts: Vec<Attempt> = Vec::new();
        let mut tries = self.tries();
        let (alone, mut place) = (tries.len(), 0);
        if let Some(seen) = forecast::see(&model, &ready, sink) {
            let (least, most) = prover.time(&seen);
            sink(Event::Forecast {
                what: format!("{alone} changes, and up to {} of them together", SHARES.len()),
                least: least * alone as u32,
                most: Some(most * (alone + SHARES.len()) as u32),
            });
        }
        let mut leading: Option<PathBuf> = None;
        while let Some(one) = tries.get(place).cloned() {
            let label = format!("trying {} ({} of {})", one.words(), place + 1, tries.len());
            let mut named = |event: Event| sink(event.labelled(&label));
            let path = space.path().join(place.to_string());
            attempts.push(self.attempt(&one, &model, &path, &prover, session, &mut named));
            // One folder is enough to keep.
            let loser = match best(&attempts) == Some(place) {
                true => leading.replace(path),
                false => Some(path),
            };
            if let Some(loser) = loser {
                let _ = fs::remove_dir_all(loser);
            }
            place += 1;
            if place == alone {
                tries.extend(self.pairs(&tries, &attempts));
            }
        }
        let best = best(&attempts);
        let mut kept = None;
        if let (Some(from), Some(folder)) = (leading, folder) {
            replace_folder(&from, folder)?;
            kept = Some(folder.to_owned());
        }
        for (place, attempt) in attempts.iter_mut().enumerate() {
            if let Some(proof) = attempt.proof.as_mut() {
                proof.folder = kept.clone().filter(|_| best == Some(place));
            }
            if Some(place) != best && attempt.refused.is_none() {
                attempt.refused =
                    Some(AttemptRefusal::new(AttemptRefusalKind::Outdone, "another is better"));
            }
        }
        attempts.sort_by(|a, b| {
            let key = |one: &Attempt| (one.refused.is_some(), -one.sure_gain.unwrap_or(0.0));
            key(a).partial_cmp(&key(b)).unwrap_or(std::cmp::Ordering::Equal)
        });
        Ok(OptimizeReport {
            started_at,
            elapsed: begin.elapsed(),
            model: info,
            target: self.target,
            max_drift: self.max_drift,
            engine,
            attempts,
            folder: kept,
            remarks: ready.remarks(),
        })
    }

    /// Everything that is tried alone, the mildest first.
    fn tries(&self) -> Vec<Try> {
        let int8 = || QuantizationConfig::new(Precision::Int8).per_channel(true);
        let mut tries = vec![
            Try::Quantize(QuantizationConfig::new(Precision::Fp16)),
            Try::Quantize(QuantizationConfig::new(Precision::Bf16)),
            Try::Quantize(int8()),
        ];
        if !self.calibrate.is_empty() {
            tries.push(Try::Quantize(int8().calibrate(self.calibrate.clone())));
        }
        tries.push(Try::Quantize(int8().weights_only(true)));
        tries.extend(SHARES.map(|share| {
            let config = PruningConfig::new(PruneMethod::Structured, share);
            Try::Prune(config.calibrate(self.calibrate.clone()))
        }));
        tries
    }

    /// What is worth trying together: every cut that alone leaves the answers where they are, with the best int8.
    fn pairs(&self, tries: &[Try], attempts: &[Attempt]) -> Vec<Try> {
        let stays = |attempt: &Attempt| {
            let drift = attempt.proof.as_ref().and_then(|proof| proof.drift.as_ref()?.worst());
            drift.is_some_and(|drift| drift <= self.max_drift)
        };
        let tried = || tries.iter().zip(attempts).filter(|(_, attempt)| stays(attempt));
        let int8 = tried().filter(|(_, attempt)| attempt.refused.is_none()).filter_map(
            |(one, attempt)| match one {
                Try::Quantize(config) if config.to == Precision::Int8 => {
                    Some((config, attempt.sure_gain?))
                }
                _ => None,
            },
        );
        let Some((int8, _)) = int8.max_by(|a, b| a.1.total_cmp(&b.1)) else { return Vec::new() };
        let both = |one: &Try| match one {
            Try::Prune(cut) => Some(Try::Both(cut.clone(), int8.clone())),
            _ => None,
        };
        tried().filter_map(|(one, _)| both(one)).collect()
    }

    /// Makes one change and proves it.
    fn attempt(
        &self,
        one: &Try,
        model: &Profiler,
        folder: &Path,
        prover: &Prover,
        session: &mut Session,
        sink: &mut dyn FnMut(Event),
    ) -> Attempt {
        let mut attempt = Attempt {
            command: one.words(),
            proof: None,
            gain: None,
            sure_gain: None,
            refused: None,
            is_open: false,
        };
        let proof = one
            .make(model, folder, sink)
            .and_then(|changed| prover.prove(model, &changed, session, sink));
        let proof = match proof {
            Ok(proof) => proof,
            Err(error) => {
                let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}"));
                let why = format!("{error}{}", cause.unwrap_or_default());
                attempt.refused = Some(AttemptRefusal::new(AttemptRefusalKind::Failed, why));
                return attempt;
            }
        };
        (attempt.gain, attempt.sure_gain) = self.gain(&proof);
        attempt.refused = self.refusal(&proof, attempt.sure_gain);
        let kind = attempt.refused.as_ref().map(|refusal| refusal.kind);
        attempt.is_open = kind == Some(AttemptRefusalKind::CannotTell);
        attempt.proof = Some(Box::new(proof));
        attempt
    }

    /// Why a change is not kept, and whether it may be better all the same.
    fn refusal(&self, proof: &ProofReport, sure: Option<f64>) -> Option<AttemptRefusal> {
        let drift = proof.drift.as_ref().and_then(|drift| drift.worst());
        let timed = proof.speed.first().filter(|_| self.target == Target::Latency);
        let (kind, why) = match (drift, timed, sure) {
            (None, ..) => (AttemptRefusalKind::NotCompared, uncompared(proof)),
            (Some(drift), ..) if drift > self.max_drift => {
                (AttemptRefusalKind::Drift, format!("its outputs drift by {}", fixed(drift, 4)))
            }
            (_, Some(speed), _) if speed.verdict == SpeedVerdict::CannotTell => {
                let why = speed.why.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
                let text = format!("cannot tell whether it is faster{}{why}", factor(speed));
                (AttemptRefusalKind::CannotTell, text)
            }
            (.., None) => {
                let why = proof.speed.first().and_then(|speed| speed.why.clone());
                let why = why.unwrap_or_else(|| "it could not be measured".into());
                (AttemptRefusalKind::NotMeasured, why)
            }
            (_, _, Some(sure)) if sure <= 1.0 => {
                (AttemptRefusalKind::NotBetter, not_better(self.target, timed))
            }
            _ => return None,
        };
        Some(AttemptRefusal { kind, why })
    }

    /// By how much the target became better, and by how much at least.
    fn gain(&self, proof: &ProofReport) -> (Option<f64>, Option<f64>) {
        let speed = proof.speed.first();
        match self.target {
            Target::Latency => {
                let found = speed.and_then(|speed| speed.speed_up.as_ref());
                let low = found.and_then(|found| found.interval).map(|interval| interval.low);
                (found.map(|found| found.ratio), low)
            }
            Target::Memory => {
                let both = speed.and_then(|speed| speed.memory_before.zip(speed.memory_after));
                let ratio = both.map(|(before, after)| before.0 as f64 / after.0.max(1) as f64);
                // Peaks of two processes differ by a percent or two.
                (ratio, ratio.map(|ratio| ratio / 1.02))
            }
            Target::Size => {
                let ratio = proof.before.size.0 as f64 / proof.after.size.0.max(1) as f64;
                (Some(ratio), Some(ratio))
            }
        }
    }
}

/// What is known not to help.
fn not_better(target: Target, timed: Option<&SpeedProof>) -> String {
    match timed {
        Some(speed) if speed.verdict == SpeedVerdict::Slower => {
            format!("it is slower{}", factor(speed))
        }
        Some(speed) => format!("it is not faster{}", factor(speed)),
        None => format!("it is not better in {}", target.name()),
    }
}

/// ` (1.24 × [0.72, 2.16])`.
fn factor(speed: &SpeedProof) -> String {
    let Some(found) = &speed.speed_up else { return String::new() };
    match found.interval {
        Some(Interval { low, high }) => {
            format!(" ({} × [{}, {}])", fixed(found.ratio, 2), fixed(low, 2), fixed(high, 2))
        }
        None => format!(" ({} ×)", fixed(found.ratio, 2)),
    }
}

/// Why nothing is known of the answers.
fn uncompared(proof: &ProofReport) -> String {
    let unmeasured = proof.speed.first().and_then(|speed| speed.why.clone());
    unmeasured.or_else(|| proof.uncompared.clone()).unwrap_or_else(|| UNCOMPARED.into())
}

/// The attempt that is best for sure.
fn best(attempts: &[Attempt]) -> Option<usize> {
    let places = (0..attempts.len()).filter(|place| attempts[*place].refused.is_none());
    places.max_by(|a, b| {
        let sure = |place: &usize| attempts[*place].sure_gain.unwrap_or(0.0);
        sure(a).total_cmp(&sure(b))
    })
}

impl Try {
    /// The arguments that do the same.
    fn words(&self) -> String {
        let calibrated = |texts: &[String]| match texts {
            [] => "",
            _ => " --calibrate TEXTS",
        };
        let pruned = |config: &PruningConfig| {
            let (method, texts) = (config.method_name(), calibrated(&config.calibrate));
            format!("prune --method {method} --sparsity {}{texts}", config.sparsity)
        };
        let quantised = |config: &QuantizationConfig| {
            let mut words = format!("quantize --to {}", config.to);
            if config.per_channel {
                words.push_str(" --per-channel");
            }
            if config.weights_only {
                words.push_str(" --weights-only");
            }
            words + calibrated(&config.calibrate)
        };
        match self {
            Try::Prune(config) => pruned(config),
            Try::Quantize(config) => quantised(config),
            Try::Both(cut, int8) => format!("{}, then {}", pruned(cut), quantised(int8)),
        }
    }

    fn make(
        &self,
        model: &Profiler,
        folder: &Path,
        sink: &mut dyn FnMut(Event),
    ) -> Result<Changed, Error> {
        match self {
            Try::Prune(config) => Pruner::new(config.clone()).prune(model, folder, true, sink),
            Try::Quantize(config) => {
                Quantizer::new(config.clone()).quantize(model, folder, true, sink)
            }
            Try::Both(cut, int8) => {
                let between = folder.with_extension("cut");
                let pruned = Pruner::new(cut.clone()).prune(model, &between, true, sink)?;
                let both = Quantizer::new(int8.clone())
                    .quantize_changed(model, &pruned, folder, true, sink);
                let _ = fs::remove_dir_all(&between);
                both
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::{
        Bytes, Category, Drift, Flops, ModelFacts, ModelInfo, ModelSource, Optimisation, Outcome,
        OutputDrift, Seconds, SpeedUp, Weights,
    };

    fn speed(verdict: SpeedVerdict, ratio: f64, low: f64, high: f64) -> SpeedProof {
        SpeedProof {
            engine: "rten".into(),
            version: "1".into(),
            before: None,
            after: None,
            memory_before: None,
            memory_after: None,
            speed_up: Some(SpeedUp {
                ratio,
                interval: Some(Interval { low, high }),
                best: high,
                worst: low,
                rounds: vec![ratio; 4],
                p_value: None,
                adjusted_p: None,
                detectable: None,
            }),
            outcome: Outcome::CannotTell,
            verdicts: Vec::new(),
            verdict,
            why: None,
            instead: None,
        }
    }

    fn proof(speed: SpeedProof, cosine: f64) -> ProofReport {
        let facts = ModelFacts {
            parameters: 10,
            nonzeros: 10,
            size: Bytes(100),
            compressed: None,
            flops: Flops(1000),
            precision: Precision::Fp32,
        };
        ProofReport {
            started_at: 0,
            elapsed: std::time::Duration::ZERO,
            model: ModelInfo {
                name: "m".into(),
                category: Category::Text,
                architecture: "bert".into(),
                source: ModelSource::Preset,
                weights: Weights::Random { seed: 0 },
                parameters: 10,
                size: Bytes(100),
                fingerprint: "f".into(),
                made_from: None,
            },
            optimisation: Optimisation::Together { changes: Vec::new() },
            folder: None,
            changed_in: Seconds(0.0),
            batch_size: 1,
            sequence_length: None,
            before: facts,
            after: facts,
            weights: Vec::new(),
            blocks: Vec::new(),
            drift: Some(Drift {
                engine: "rten".into(),
                samples: 1,
                given: false,
                outputs: vec![OutputDrift {
                    output: "y".into(),
                    cosine: Some(cosine),
                    relative_error: None,
                    top1: None,
                    why: None,
                }],
                layers: Vec::new(),
                similarities: Vec::new(),
            }),
            speed: vec![speed],
            uncompared: None,
            remarks: Vec::new(),
        }
    }

    #[test]
    fn an_interval_that_reaches_both_ways_is_open_and_never_called_not_better() {
        let search = Optimizer::new(Target::Latency, 0.05);
        let said = |verdict, ratio, low, high, cosine| {
            let proof = proof(speed(verdict, ratio, low, high), cosine);
            let (_, sure) = search.gain(&proof);
            search.refusal(&proof, sure)
        };
        use AttemptRefusalKind as Kind;
        let open = said(SpeedVerdict::CannotTell, 1.24, 0.72, 2.16, 0.999).unwrap();
        assert_eq!(open.why, "cannot tell whether it is faster (1.24 × [0.72, 2.16])");
        assert_eq!(open.kind, Kind::CannotTell);
        let slower = said(SpeedVerdict::Slower, 0.8, 0.75, 0.85, 0.999);
        let why = "it is slower (0.80 × [0.75, 0.85])";
        assert_eq!(slower, Some(AttemptRefusal::new(Kind::NotBetter, why)));
        let same = said(SpeedVerdict::NoFaster, 1.01, 0.99, 1.04, 0.999).unwrap();
        assert!(same.why.starts_with("it is not faster (1.01 ×"), "{same:?}");
        assert_eq!(same.kind, Kind::NotBetter);
        let out = said(SpeedVerdict::CannotTell, 1.24, 0.72, 2.16, 0.5).unwrap();
        assert_eq!(out.kind, Kind::Drift, "it is out anyway");
        assert_eq!(said(SpeedVerdict::Faster, 1.5, 1.4, 1.6, 0.999), None);
    }
}
