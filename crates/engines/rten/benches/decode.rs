//! A language model that writes token by token on rten: operators and number formats against each other, and llama.cpp on the
//! same file, interleaved.
//!
//! `cargo bench -p modelmeter-engine-rten --bench decode -- [MODEL] [THREADS] [DEPTH,…] [SIDE,…] [ROUNDS]`; sides are `standard`, `fused`, `int8`,
//! `stored` (`unfilled`: its columns as they are) and `llamacpp`, the last three for `.gguf` files. `LLAMA_CPP_LIB` names the folder of llama.cpp's library.
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a bench prints and may panic")]

use engine::{Engine as _, Generator, GeneratorLoader, GeneratorRequest, LoadRequest, Places};
use modelmeter_engine_llamacpp::LlamaCpp;
use modelmeter_engine_rten::Rten;
use std::{path::PathBuf, time::Instant};
use types::{DecoderDialect, DecoderShape, Device, Precision};

const TURNS: usize = 4;
const STEPS: usize = 12;

struct Side {
    generator: Box<dyn Generator>,
    seconds: Vec<f64>,
    turns: Vec<f64>,
}

fn main() {
    let arguments: Vec<String> =
        std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    let argument = |at: usize, usual: &str| arguments.get(at).cloned().unwrap_or(usual.into());
    let model = argument(0, "smollm2-135m");
    let threads: u32 = argument(1, "2").parse().unwrap();
    let is_gguf = model.ends_with(".gguf");
    let usual = if is_gguf { "standard,fused,int8,stored,llamacpp" } else { "standard,fused,int8" };
    let sides: Vec<String> = argument(3, usual).split(',').map(str::to_owned).collect();
    for depth in argument(2, "16,1024").split(',').map(|depth| depth.parse().unwrap()) {
        measure(&model, threads, depth, &sides, argument(4, "5").parse().unwrap());
    }
}

fn measure(model: &str, threads: u32, depth: usize, sides: &[String], count: usize) {
    println!("\n{model}, {threads} threads, {STEPS} steps at depth {depth}");
    println!("| side | step | tokens per second | against the first (95 %) | scores |");
    println!("| --- | ---: | ---: | --- | --- |");
    let mut rounds: Vec<Vec<Vec<f64>>> = vec![Vec::new(); sides.len()];
    let mut seconds: Vec<Vec<f64>> = vec![Vec::new(); sides.len()];
    let mut scores: Vec<Vec<f32>> = Vec::new();
    for round in 0..count {
        let mut open: Vec<Side> =
            sides.iter().map(|side| open(model, side, threads, depth)).collect();
        if round == 0 {
            scores = open.iter_mut().map(|side| first_scores(&mut *side.generator)).collect();
        }
        for turn in 0..=TURNS {
            let mut order: Vec<usize> = (0..open.len()).collect();
            if turn % 2 == 1 {
                order.reverse();
            }
            for at in order {
                let side = &mut open[at];
                side.generator.rewind().unwrap();
                let begin = Instant::now();
                for step in 0..STEPS {
                    side.generator.feed(&[token(depth + step)]).unwrap();
                }
                let each = begin.elapsed().as_secs_f64() / STEPS as f64;
                if turn > 0 {
                    side.turns.push(each);
                    side.seconds.push(each);
                }
            }
        }
        let first = open[0].turns.clone();
        for (at, side) in open.iter().enumerate() {
            rounds[at].push(side.turns.iter().zip(&first).map(|(a, b)| (a / b).ln()).collect());
            seconds[at].extend(&side.seconds);
        }
    }
    for (at, name) in sides.iter().enumerate() {
        seconds[at].sort_by(f64::total_cmp);
        let median = seconds[at][seconds[at].len() / 2];
        let estimate = stats::paired_ratio(&rounds[at], 1).unwrap();
        let against = match estimate.interval {
            Some(interval) if at > 0 => {
                format!("{:.3} [{:.3}, {:.3}]", estimate.ratio, interval.low, interval.high)
            }
            _ => String::new(),
        };
        let (worst, cosine) = compared(&scores[0], &scores[at]);
        let parity = format!("off by {worst:.1e} of the largest, cosine {cosine:.6}");
        println!(
            "| {name} | {:.2} ms | {:.1} | {against} | {parity} |",
            median * 1e3,
            1.0 / median
        );
    }
}

fn token(place: usize) -> i64 {
    (100 + place * 37 % 40_000) as i64
}

fn open(model: &str, side: &str, threads: u32, depth: usize) -> Side {
    let cache = std::env::temp_dir().join("modelmeter-bench");
    let (dialect, precision) = match side {
        "standard" => (DecoderDialect::Standard, None),
        "int8" => (DecoderDialect::Fused, Some(Precision::Int8)),
        "stored" | "unfilled" => (DecoderDialect::Fused, Some(Precision::Stored)),
        _ => (DecoderDialect::Fused, None),
    };
    let request = models::Request {
        offline: true,
        generates: true,
        dialect,
        precision,
        filled_rows: if side == "unfilled" { 1 } else { Rten.block_rows() },
        ..models::Request::new(model, cache)
    };
    let resolved = models::resolve(&request, &mut |_| {}).unwrap();
    let decoder = resolved.decoder.as_ref().unwrap();
    let context = depth + STEPS + 32;
    let mut load = LoadRequest::of_onnx(
        &resolved.onnx,
        Device::Cpu,
        precision.unwrap_or(Precision::Fp32),
        threads,
    );
    let shape: &DecoderShape = &decoder.shape;
    let mut generator = if side == "llamacpp" {
        load.gguf = Some(PathBuf::from(model));
        load.precision = Precision::Stored;
        let named = std::env::var_os("LLAMA_CPP_LIB").map(PathBuf::from);
        load.places = Places {
            libraries: named.map(|path| ("llamacpp".to_owned(), path)).into_iter().collect(),
            ..Places::default()
        };
        let request = GeneratorRequest { load: &load, shape, batch: 1, context, dialect };
        LlamaCpp.generator(&request).unwrap().unwrap()
    } else {
        let request = GeneratorRequest { load: &load, shape, batch: 1, context, dialect };
        Rten.generator(&request).unwrap().unwrap()
    };
    let prompt: Vec<i64> = (0..depth).map(token).collect();
    generator.feed(&prompt).unwrap();
    generator.mark().unwrap();
    Side { generator, seconds: Vec::new(), turns: Vec::new() }
}

fn first_scores(generator: &mut dyn Generator) -> Vec<f32> {
    generator.rewind().unwrap();
    generator.feed(&[token(7)]).unwrap();
    generator.scores().unwrap().into_owned()
}

/// The largest difference as a share of the largest score, and the cosine.
fn compared(a: &[f32], b: &[f32]) -> (f32, f64) {
    let largest = a.iter().fold(0_f32, |most, score| most.max(score.abs()));
    let worst = a.iter().zip(b).fold(0_f32, |most, (a, b)| most.max((a - b).abs()));
    let product = |a: &[f32], b: &[f32]| -> f64 {
        a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
    };
    (worst / largest, product(a, b) / (product(a, a) * product(b, b)).sqrt())
}
