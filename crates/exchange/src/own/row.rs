//! A row of flat columns becomes a run again: an import that says what the columns could not hold.

use super::flat::{Cell, METRICS};
use crate::{
    Given, Problem,
    draft::{Draft, MachineFacts, OURS},
};
use std::collections::HashMap;
use types::{
    Category, Direction, Machine, Mode, Phase, ReasonCode, Run, RunId, Stated, Unit, Weights,
};

/// The cells of a row by their column, and where the row stands.
pub(crate) struct Row {
    pub(crate) line: u64,
    pub(crate) cells: HashMap<String, Cell>,
    /// Samples of the main phase in nanoseconds.
    pub(crate) samples: Vec<u64>,
}

type Taken<T> = Result<T, Problem>;

impl Row {
    fn complain(&self, column: &str, what: impl Into<String>) -> Problem {
        Problem::cell(self.line, column, what)
    }

    fn text(&self, column: &str) -> Option<String> {
        match self.cells.get(column)? {
            Cell::Text(text) => Some(text.clone()),
            Cell::Whole(count) => Some(count.to_string()),
            Cell::Real(number) => Some(number.to_string()),
            Cell::Flag(flag) => Some(flag.to_string()),
            Cell::Moment(micros) => Some(clock::rfc3339(*micros)),
        }
    }

    fn need(&self, column: &str) -> Taken<String> {
        self.text(column).ok_or_else(|| self.complain(column, "is empty"))
    }

    /// A number that is finite and not negative; nothing that is measured here can be.
    fn real(&self, column: &str) -> Taken<Option<f64>> {
        let number = match self.cells.get(column) {
            None => return Ok(None),
            Some(Cell::Real(number)) => *number,
            Some(Cell::Whole(count)) => *count as f64,
            Some(Cell::Text(text)) => text
                .trim()
                .parse()
                .map_err(|_| self.complain(column, format!("is `{text}`, not a number")))?,
            Some(_) => return Err(self.complain(column, "is not a number")),
        };
        if number.is_finite() && number >= 0.0 {
            Ok(Some(number))
        } else {
            Err(self.complain(column, format!("is {number}, which is not possible")))
        }
    }

    fn whole(&self, column: &str) -> Taken<Option<u64>> {
        match self.cells.get(column) {
            Some(Cell::Whole(count)) => Ok(Some(*count)),
            Some(Cell::Text(text)) if text.trim().parse::<u64>().is_ok() => {
                Ok(text.trim().parse().ok())
            }
            _ => match self.real(column)? {
                Some(number) if number.fract() != 0.0 => {
                    Err(self.complain(column, format!("is {number}, not a whole number")))
                }
                number => Ok(number.map(|number| number as u64)),
            },
        }
    }

    /// A time, in seconds or, as our reports write it, in milliseconds.
    fn seconds(&self, name: &str) -> Taken<Option<f64>> {
        let millis = self.real(&format!("{name}_ms"))?.map(|millis| millis / 1e3);
        Ok(self.real(&format!("{name}_seconds"))?.or(millis))
    }

    fn parsed<T: std::str::FromStr<Err: std::fmt::Display>>(
        &self,
        column: &str,
    ) -> Taken<Option<T>> {
        let Some(text) = self.text(column) else { return Ok(None) };
        text.parse().map(Some).map_err(|error: T::Err| self.complain(column, error.to_string()))
    }

    fn moment(&self, column: &str) -> Taken<Option<i64>> {
        match self.cells.get(column) {
            None => Ok(None),
            Some(Cell::Moment(micros)) => Ok(Some(*micros)),
            Some(_) => {
                let text = self.need(column)?;
                let micros = clock::parse(&text);
                Ok(Some(micros.ok_or_else(|| {
                    self.complain(column, format!("is `{text}`, not a timestamp"))
                })?))
            }
        }
    }

    /// The run of this row.
    pub(crate) fn run(self, file: &str) -> Taken<Run> {
        let id = self.need("run_id")?;
        let machine = self.text("machine");
        let draft = self.draft()?;
        let mut run = draft.finish(file, &Given::default());
        // The same run that lies elsewhere whole: it is recognised by its name.
        run.id = RunId(id);
        if let Some(key) = machine {
            // Its facts are fewer here, and must not replace those of the real one.
            run.environment.machine.key = Machine::imported_key(Machine::own_key(&key));
        }
        Ok(run)
    }

    fn draft(self) -> Taken<Draft> {
        let mode = match self.text("mode").as_deref() {
            None => Mode::Inference,
            Some(name) => Mode::named(name).ok_or_else(|| {
                let text = format!("is `{name}`, not inference, training or generate");
                self.complain("mode", text)
            })?,
        };
        let seed = self.whole("seed")?;
        let options = match self.text("options") {
            None => types::EngineOptions::default(),
            Some(text) => serde_json::from_str(&text).map_err(|error| {
                self.complain("options", format!("does not contain options as JSON: {error}"))
            })?,
        };
        let mut draft = Draft {
            tool: self.text("source_tool").unwrap_or_else(|| OURS.into()),
            version: self.text("source_version"),
            model: Some(self.need("model")?),
            architecture: self.text("architecture"),
            category: self.text("category").map(|name| category(&name)),
            parameters: self.whole("parameters")?,
            size: self.whole("model_size_bytes")?,
            weights: match self.text("weights").as_deref() {
                Some("random") => Some(Weights::Random { seed: seed.unwrap_or(0) }),
                Some("real") => Some(Weights::Real),
                _ => None,
            },
            fingerprint: self.text("fingerprint"),
            engine: self.need("engine")?,
            engine_version: self.text("engine_version"),
            placement: self.text("placement"),
            device: self.parsed("device")?,
            precision: self.parsed("precision")?,
            batch_size: self.whole("batch_size")?,
            sequence_length: self.whole("sequence_length")?,
            mode,
            threads: self.whole("threads")?.map(|count| u32::try_from(count).unwrap_or(u32::MAX)),
            seed,
            options,
            machine: self.machine()?,
            started_at: self.moment("started_at")?,
            elapsed: self.seconds("elapsed")?,
            process_start: self.seconds("process_start")?,
            load: self.seconds("load")?,
            first_inference: self.seconds("first_inference")?,
            warmup_runs: self.whole("warmup_runs")?,
            flops: match self.real("work_flops")? {
                Some(flops) => Some(flops),
                None => self.real("compute_flops")?,
            },
            coverage: match self.real("work_coverage")? {
                Some(coverage) => Some(coverage),
                None => self.real("compute_coverage")?,
            },
            activation: self.whole("activation_peak_bytes")?,
            tags: self
                .text("tags")
                .unwrap_or_default()
                .split_whitespace()
                .map(str::to_owned)
                .collect(),
            ..Draft::default()
        };
        self.latency(&mut draft)?;
        self.metrics(&mut draft)?;
        self.verdict(&mut draft);
        Ok(draft)
    }

    fn machine(&self) -> Taken<MachineFacts> {
        let gpus = self.text("gpus").unwrap_or_default();
        Ok(MachineFacts {
            hostname: self.text("hostname"),
            cpu: self.text("cpu"),
            memory: self.whole("machine_memory_bytes")?,
            gpus: gpus.split("; ").filter(|name| !name.is_empty()).map(str::to_owned).collect(),
            ..MachineFacts::default()
        })
    }

    fn latency(&self, draft: &mut Draft) -> Taken<()> {
        let name = self.text("latency_phase").unwrap_or_else(|| "inference".into());
        let phase = Phase::ALL.into_iter().find(|phase| phase.name() == name);
        let phase = phase.ok_or_else(|| {
            self.complain("latency_phase", format!("is `{name}`, which is not a phase"))
        })?;
        if !self.samples.is_empty() {
            draft.samples.push(types::Samples { phase, nanos: self.samples.clone() });
            return Ok(());
        }
        let of = |name: &str| self.seconds(&format!("latency_{name}"));
        let stated = Stated {
            count: self.whole("latency_samples")?,
            mean: of("mean")?,
            std: of("std")?,
            min: of("min")?,
            max: of("max")?,
            median: of("median")?,
            p90: of("p90")?,
            p95: of("p95")?,
            p99: of("p99")?,
            p999: of("p99_9")?,
        };
        if stated != Stated::default() {
            draft.stated.insert(phase, stated);
        }
        Ok(())
    }

    fn metrics(&self, draft: &mut Draft) -> Taken<()> {
        for (column, key) in METRICS {
            let Some(value) = self.real(column)? else { continue };
            let (unit, direction) = match *key {
                "compute.flops_per_second" => (Unit::FlopsPerSecond, Direction::Higher),
                "compute.ceiling_share" => (Unit::Ratio, Direction::Higher),
                "gpu.energy" => (Unit::Joules, Direction::Lower),
                key if key.starts_with("throughput") => (Unit::PerSecond, Direction::Higher),
                _ => (Unit::Bytes, Direction::Lower),
            };
            draft.metric(key, unit, direction, value);
        }
        Ok(())
    }

    fn verdict(&self, draft: &mut Draft) {
        let reasons = self.text("reasons").unwrap_or_default();
        let is_valid =
            self.text("valid").is_none_or(|text| text.eq_ignore_ascii_case("true") || text == "1");
        match (is_valid, reasons.is_empty()) {
            (false, _) => draft.invalid(
                ReasonCode::Imported,
                format!("not valid where it was measured: {reasons}"),
            ),
            (true, false) => draft
                .remark(ReasonCode::Imported, format!("remarks where it was measured: {reasons}")),
            (true, true) => {}
        }
    }
}

fn category(name: &str) -> Category {
    let all = [
        Category::Text,
        Category::Generation,
        Category::Vision,
        Category::Audio,
        Category::Multimodal,
        Category::Reference,
    ];
    all.into_iter().find(|category| category.name() == name).unwrap_or(Category::Other)
}
