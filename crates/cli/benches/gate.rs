//! How often the gate cries wolf, what it finds, and what a verdict costs.
//!
//! `cargo bench --workspace --bench gate`: one and the same thing compared with itself (every alarm is false), then a
//! planted slow-down, by the scripted engine, whose truth is known, and by a real network with more work. Every comparison
//! is a whole gate of its own: fresh processes, looks, ruling. `COUNT=20` is a short look,
//! `PARTS=itself,looks,waiting,fake,real,long,busy` chooses (`busy` starts one burning process for each processor: a change of a
//! fifth must never be called the other way round; `waiting` is the scripted engine asleep: all it shows is when the system
//! wakes it, however busy the machine is), `JOBS=8` lets so many gates run beside each other on a machine with the
//! processors for it, `RAW=FILE` keeps what every round said.
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a bench prints and may panic")]

use analysis::gate::{Trial, round_changes, rule};
use engine::{FakeEngine, claim_standard_streams, serve};
use meter::{Bench, Contender, Depth, DuelRule, Job, Launch};
use modelmeter::{Folders, Gate, GateBaseline, Profiler, Session};
use probe::IdlePower;
use stats::Evidence;
use std::{
    collections::BTreeMap,
    fs,
    io::Write,
    path::Path,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};
use types::{GateDesign, Gauge, Question, Ruling, Statistic, StoppingRule, Turn};

const FAKE_WORKER: &str = "__fake-worker";
/// The default gate's and the long one's processes and alert.
const DEFAULT: (u32, f64) = (24, 0.03);
const LONG: (u32, f64) = (80, 0.01);
const CHANCE: f64 = 0.01;
/// What the scripted engine computes in one inference: about half a millisecond.
const STEPS: f64 = 250_000.0;
/// What it waits instead.
const WAITING: &str = "500us";

fn main() {
    modelmeter::serve_if_worker();
    if std::env::args().nth(1).as_deref() == Some(FAKE_WORKER) {
        return serve_fake();
    }
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let count: usize = number("COUNT").unwrap_or(1000);
    let parts = std::env::var("PARTS").unwrap_or_else(|_| "itself,fake,real,long".into());
    let parts: Vec<&str> = parts.split(',').collect();
    println!(
        "| what | gates | failed | cannot tell | held | seconds a verdict, median (p90) | processes per side, mean |"
    );
    println!("| --- | ---: | ---: | ---: | ---: | ---: | ---: |");
    let kept = tempfile::tempdir().unwrap();
    let models = models(kept.path());
    for part in parts {
        match part {
            "itself" => {
                many("a real network against itself", count, |_| {
                    real(kept.path(), &models.0, &models.0, DEFAULT)
                });
                many("the scripted engine against itself", count, |seed| {
                    scripted(seed, 1.0, DEFAULT)
                });
            }
            "looks" => looks(count / 10),
            "waiting" => many("scripted, waiting, against itself", count, |seed| {
                held(seed, [WAITING.into(), WAITING.into()], DEFAULT)
            }),
            "fake" => many("scripted, 5 % slower", count / 5, |seed| scripted(seed, 1.05, DEFAULT)),
            "real" => many("a real network with more work", count / 5, |_| {
                real(kept.path(), &models.0, &models.1, DEFAULT)
            }),
            "long" => {
                many("scripted, 2 % slower, long", count / 20, |seed| scripted(seed, 1.02, LONG));
                many("scripted, itself, long", count / 20, |seed| scripted(seed, 1.0, LONG));
            }
            "busy" => busy(kept.path(), &models, count / 20),
            other => println!("no part is called {other}"),
        }
    }
}

/// A change of a fifth, both ways, beside one process that burns one processor and beside one for each.
fn busy(folder: &Path, models: &(String, String, String), count: usize) {
    let (light, _, heavy) = models;
    let all = std::thread::available_parallelism().unwrap().get();
    for burning in [1, all] {
        let _burners = Burners::start(burning);
        let beside = format!("beside {burning} burning processes");
        many(&format!("a fifth more work {beside}; held would be wrong"), count, |_| {
            real(folder, light, heavy, DEFAULT)
        });
        many(&format!("a fifth less work {beside}; failed would be wrong"), count, |_| {
            real(folder, heavy, light, DEFAULT)
        });
    }
}

/// Processes that do nothing but burn processors.
struct Burners(Vec<std::process::Child>);

impl Burners {
    fn start(count: usize) -> Burners {
        let burn = |_| {
            let mut shell = std::process::Command::new("sh");
            shell.args(["-c", "while :; do :; done"]).spawn().unwrap()
        };
        Burners((0..count).map(burn).collect())
    }
}

impl Drop for Burners {
    fn drop(&mut self) {
        for burner in &mut self.0 {
            let _ = burner.kill();
            let _ = burner.wait();
        }
    }
}

/// What one gate said, how long it took and what it needed.
struct Said {
    ruling: Ruling,
    seconds: f64,
    processes: f64,
    rounds: Vec<f64>,
}

/// Lets so many gates run and says what came of them.
fn many(what: &str, count: usize, gate: impl Fn(u64) -> Said + Sync) {
    let jobs: usize = std::env::var("JOBS").ok().and_then(|text| text.parse().ok()).unwrap_or(1);
    let (next, said) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    if at >= count {
                        break;
                    }
                    let one = gate(at as u64);
                    keep(what, &one);
                    said.lock().unwrap().push(one);
                }
            });
        }
    });
    let said = said.into_inner().unwrap();
    let of = |ruling| said.iter().filter(|one: &&Said| one.ruling == ruling).count();
    let mut seconds: Vec<f64> = said.iter().map(|one| one.seconds).collect();
    seconds.sort_by(f64::total_cmp);
    let at = |share: f64| seconds.get(((seconds.len().max(1) - 1) as f64 * share) as usize);
    println!(
        "| {what} | {} | {} | {} | {} | {:.1} ({:.1}) | {:.1} |",
        said.len(),
        of(Ruling::Failed),
        of(Ruling::CannotTell),
        of(Ruling::Held),
        at(0.5).copied().unwrap_or_default(),
        at(0.9).copied().unwrap_or_default(),
        said.iter().map(|one| one.processes).sum::<f64>() / said.len().max(1) as f64
    );
}

/// Comparisons of the scripted engine that end as soon as they are answered, as `compare` makes them: the truth is known.
fn looks(count: usize) {
    println!(
        "\n| comparison | comparisons | wrong | answered | interval holds | seconds, median (p90) | processes, mean |"
    );
    println!("| --- | ---: | ---: | ---: | ---: | ---: | ---: |");
    let busy = |slower: f64| format!("work {}", (STEPS * slower).round());
    let asleep = |slower: f64| format!("{}us", (500.0 * slower).round());
    for slower in [1.0, 1.05, 1.2] {
        let name = |what: &str| match slower == 1.0 {
            true => format!("scripted, {what}, against itself"),
            false => format!("scripted, {what}, {:.0} % slower", (slower - 1.0) * 100.0),
        };
        looked(&name("computing"), count, slower, [busy(1.0), busy(slower)]);
        looked(&name("waiting"), count, slower, [asleep(1.0), asleep(slower)]);
    }
}

/// So many of them, and what came of them.
fn looked(what: &str, count: usize, slower: f64, scripts: [String; 2]) {
    let (mut wrong, mut answered, mut held, mut processes) = (0, 0, 0, 0);
    let mut seconds = Vec::new();
    for seed in 0..count {
        let begin = Instant::now();
        let (answer, interval, rounds) = compare(seed as u32, &scripts);
        seconds.push(begin.elapsed().as_secs_f64());
        answered += usize::from(answer.is_some());
        // The second side is as slow as its script says: the ratio is below 1.
        wrong += usize::from(answer.is_some_and(|faster| faster || slower == 1.0));
        let truth = 1.0 / slower;
        held += usize::from(interval.low <= truth && truth <= interval.high);
        processes += rounds;
    }
    seconds.sort_by(f64::total_cmp);
    let at = |share: f64| seconds[((seconds.len() - 1) as f64 * share) as usize];
    println!(
        "| {what} | {count} | {wrong} | {answered} | {held} | {:.1} ({:.1}) | {:.1} |",
        at(0.5),
        at(0.9),
        processes as f64 / count as f64
    );
}

/// Whether the second script was called faster, its interval, and the processes that were used.
fn compare(seed: u32, scripts: &[String; 2]) -> (Option<bool>, types::Interval, usize) {
    let looks = stats::Looks::new(8, None);
    let labels = scripts.clone();
    let mut last = None;
    let mut watch = |so_far: &meter::SoFar, _: &mut dyn FnMut(types::Event)| {
        let ended = so_far.sweeps.is_none() && looks.is_look(so_far.finished);
        if !ended {
            return vec![true; 2];
        }
        let contest = analysis::Contest {
            labels: &labels,
            rounds: &so_far.rounds,
            baseline: 0,
            failed: &so_far.failed,
            refused: &[None, None],
            looks: Some(looks),
            seed: 1,
        };
        let found = analysis::interim_rows(&contest, Some(so_far.finished));
        last = Some(found.rows[1].clone());
        vec![found.open[1]; 2]
    };
    let rule = DuelRule { turns: 2, repeats: Some(8), joins_turns: true, ..turns(8, seed) };
    let rounds = fight_by(&rule, scripts, &mut watch)[0].len();
    let last = last.unwrap();
    let answer = match last.state {
        types::InterimState::Answered { outcome } => Some(outcome == types::Outcome::Better),
        _ => None,
    };
    (answer, last.interval.unwrap(), rounds)
}

/// Keeps what the rounds of a gate said, for whoever wants to try another rule on them.
fn keep(what: &str, said: &Said) {
    let Some(path) = std::env::var_os("RAW") else { return };
    let rounds: Vec<String> = said.rounds.iter().map(|round| format!("{round:.6}")).collect();
    let line = format!(
        "{{\"what\":\"{what}\",\"ruling\":\"{}\",\"seconds\":{:.2},\"rounds\":[{}]}}\n",
        said.ruling.name(),
        said.seconds,
        rounds.join(",")
    );
    let file = fs::OpenOptions::new().create(true).append(true).open(path);
    file.unwrap().write_all(line.as_bytes()).unwrap();
}

/// Three networks: the second has about a twentieth more work than the first, the third a fifth.
fn models(folder: &Path) -> (String, String, String) {
    let write = |name: &str, hidden: usize| {
        let path = folder.join(name);
        let text =
            format!("input_size = 512\nhidden_layers = [1024, {hidden}, 512]\noutput_size = 512\n");
        fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    (write("before.toml", 1024), write("after.toml", 1120), write("heavy.toml", 1344))
}

fn folders(folder: &Path) -> Folders {
    Folders {
        cache: folder.join("cache"),
        hub_cache: None,
        database: folder.join("gate.db"),
        engines: folder.join("engines"),
    }
}

/// A gate as `check --against` runs it.
fn real(folder: &Path, base: &str, side: &str, (processes, alert): (u32, f64)) -> Said {
    let profiler = Profiler::new(side).engine("rten").batch_size(8).threads(1).offline(true);
    let gate = Gate::new([profiler.folders(folders(folder))])
        .against(GateBaseline::Model(base.to_owned()))
        .gauges([Gauge::Latency(Statistic::P50)])
        .processes(processes)
        .alert(alert);
    // The machine's ceilings are measured once, as a user's database remembers them.
    let mut session = Session::with_store(&folders(folder).database).unwrap();
    let begin = Instant::now();
    let (report, runs) = gate.run(&mut session, &mut |_| {}).unwrap();
    Said {
        ruling: report.ruling(),
        seconds: begin.elapsed().as_secs_f64(),
        processes: runs.len() as f64,
        rounds: report.checks[0].rounds.iter().map(|round| round.ln()).collect(),
    }
}

/// The same with the scripted engine, whose truth is known.
fn scripted(seed: u64, slower: f64, budget: (u32, f64)) -> Said {
    let work = |slower: f64| format!("work {}", (STEPS * slower).round());
    held(seed, [work(1.0), work(slower)], budget)
}

/// A gate over two scripts.
fn held(seed: u64, scripts: [String; 2], (processes, alert): (u32, f64)) -> Said {
    let begin = Instant::now();
    let looks = Gate::new([]).processes(processes).looks();
    let chance = CHANCE / looks.len() as f64;
    let mut rounds: Vec<f64> = Vec::new();
    let mut ruling = Ruling::CannotTell;
    for look in looks {
        let more = look - rounds.len() as u32;
        rounds.extend(fight(more, rounds.len() as u32 + seed as u32, &scripts));
        let question = Question::Change {
            alert,
            effective: alert,
            design: GateDesign::Interleaved,
            drift: 0.0,
        };
        let gauge = Gauge::Latency(Statistic::P50);
        let trial = Trial { gauge, question, evidence: Evidence::of(&rounds) };
        ruling = rule(&[trial], chance)[0].ruling;
        if ruling != Ruling::CannotTell {
            break;
        }
    }
    Said { ruling, seconds: begin.elapsed().as_secs_f64(), processes: rounds.len() as f64, rounds }
}

/// So many rounds of two scripts, as logarithms of how much slower the second was.
fn fight(rounds: u32, rounds_before: u32, scripts: &[String; 2]) -> Vec<f64> {
    let [base, other] = fight_by(&turns(rounds, rounds_before), scripts, &mut |_, _| vec![true; 2]);
    round_changes(&base, &other)
}

/// The turns of a gate.
fn turns(rounds: u32, first: u32) -> DuelRule {
    DuelRule {
        rounds,
        first,
        turns: 20,
        turn: Duration::from_millis(20),
        least: 3,
        most: u64::MAX,
        samples: None,
        repeats: Some(rounds * 10),
        joins_turns: false,
        stopping: StoppingRule::default(),
        show: Depth::Outputs,
    }
}

/// The turns of two scripts, round by round.
fn fight_by(
    rule: &DuelRule,
    scripts: &[String; 2],
    watch: meter::Watch<'_>,
) -> [Vec<Vec<Turn>>; 2] {
    let file = tempfile::NamedTempFile::new().unwrap();
    let job = || job(file.path());
    let contender = |script: &String| Contender {
        label: script.clone(),
        job: &job,
        launch: Launch::Process {
            program: std::env::current_exe().unwrap(),
            arguments: vec![FAKE_WORKER.into(), script.into()],
            environment: Vec::new(),
        },
        bench: Bench {
            machine: hardware::machine(),
            ceilings: None,
            idle: IdlePower::default(),
            versions: BTreeMap::new(),
            revision: None,
        },
    };
    let contenders = scripts.each_ref().map(contender);
    let folder = tempfile::tempdir().unwrap();
    let mut all = |outputs: &[Option<Vec<types::HostTensor>>]| vec![true; outputs.len()];
    let records = meter::duel(&contenders, rule, folder.path(), &mut all, watch, &mut |_| {});
    let side = |record: &meter::Record| {
        record.bouts.iter().map(|bout| bout.turns.clone()).collect::<Vec<Vec<Turn>>>()
    };
    [side(&records[0]), side(&records[1])]
}

fn serve_fake() {
    let script = std::env::args().nth(2).unwrap();
    let fake: FakeEngine = script.parse().unwrap();
    let channel = claim_standard_streams().unwrap();
    let no_text = |_: &Path| Err("the fake has no tokenizer".to_owned());
    serve(&[&fake], &no_text, channel.reader, channel.writer).unwrap();
}

fn job(onnx: &Path) -> Job<'static> {
    let work = types::Work {
        flops: types::Flops(1),
        coverage: types::Ratio(1.0),
        bytes_read: types::Bytes(0),
        bytes_written: types::Bytes(0),
        activation_peak: None,
    };
    Job {
        cell: types::Cell {
            model: "fake".into(),
            engine: "fake".into(),
            device: types::Device::Cpu,
            precision: types::Precision::Fp32,
            batch_size: 3,
            sequence_length: None,
            mode: types::Mode::Inference,
            training: None,
            generation: None,
            load: None,
            threads: 1,
            seed: 0,
            inputs: vec![],
            text: None,
            options: Default::default(),
            feed: Default::default(),
        },
        id: types::RunId("00".into()),
        model: types::ModelInfo {
            name: "fake".into(),
            category: types::Category::Other,
            architecture: "fake".into(),
            source: types::ModelSource::File { path: onnx.to_owned() },
            weights: types::Weights::Real,
            parameters: 1,
            size: types::Bytes(1),
            fingerprint: "0".into(),
            made_from: None,
        },
        onnx: onnx.to_owned(),
        module: None,
        gguf: None,
        weights_read: None,
        counting: Default::default(),
        places: Default::default(),
        inputs_file: None,
        inputs: vec![types::InputSpec {
            name: "x".into(),
            dtype: types::ElementType::F32,
            dims: vec![3],
            role: types::InputRole::Other,
            fill: types::Fill::Constant { value: 1.0 },
        }],
        tokenizer: None,
        media: None,
        postprocess: types::Postprocess::None,
        training: None,
        generation: None,
        phase_flops: Vec::new(),
        work,
        unknown_shapes: vec![],
        waits_busily: false,
        reads_windows: false,
        refine: &|_| types::Work {
            flops: types::Flops(1),
            coverage: types::Ratio(1.0),
            bytes_read: types::Bytes(0),
            bytes_written: types::Bytes(0),
            activation_peak: None,
        },
        model_commit: None,
        remarks: vec![],
        prepared_in: Duration::ZERO,
    }
}
