//! Our generator against a bare loop of llama.cpp's own two calls, `llama_decode` and `llama_get_logits_ith`, on the same library,
//! file and threads, interleaved; and, where it is built, llama-bench beside them.
//!
//! `cargo bench -p modelmeter-engine-llamacpp --bench bare -- MODEL.gguf [LLAMA_CPP_FOLDER] [THREADS] [LLAMA_BENCH]`.
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a bench prints and may panic")]

use engine::{Generator, GeneratorLoader, GeneratorRequest, LoadRequest, Places};
use libloading::Library;
use modelmeter_engine_llamacpp::{LlamaCpp, TRIED, install};
use std::{
    ffi::{CString, c_void},
    mem::MaybeUninit,
    path::{Path, PathBuf},
    process::Command,
    time::Instant,
};
use types::{DecoderDialect, DecoderShape, Device, Precision};

const ROUNDS: usize = 5;
const TURNS: usize = 6;
const PROMPT: usize = 256;
const STEPS: usize = 48;
const CONTEXT: usize = 512;

type Handle = *mut c_void;

/// More bytes than any version's parameters have.
#[repr(C, align(8))]
#[derive(Clone, Copy)]
struct Block([MaybeUninit<u8>; 1024]);

/// A batch as `llama_batch_get_one` makes it.
#[repr(C)]
#[derive(Clone, Copy)]
struct Batch {
    count: i32,
    pointers: [Handle; 6],
}

/// The loop that llama.cpp's own examples show.
struct Bare {
    context: Handle,
    memory: Handle,
    vocabulary: usize,
    get_one: unsafe extern "C" fn(*mut i32, i32) -> Batch,
    decode: unsafe extern "C" fn(Handle, Batch) -> i32,
    logits: unsafe extern "C" fn(Handle, i32) -> *mut f32,
    clear: unsafe extern "C" fn(Handle, bool),
}

impl Bare {
    fn new(library: &Path, model: &Path, threads: i32, vocabulary: usize) -> Bare {
        // SAFETY: it is loaded already, and stays; the types are those of the library's header.
        unsafe {
            let library: &'static Library = Box::leak(Box::new(Library::new(library).unwrap()));
            macro_rules! function {
                ($name:literal: $kind:ty) => {
                    *library.get::<$kind>($name).unwrap()
                };
            }
            let model_defaults =
                function!(b"llama_model_default_params": unsafe extern "C" fn() -> Block);
            let load = function!(b"llama_model_load_from_file": unsafe extern "C" fn(*const i8, Block) -> Handle);
            let context_defaults =
                function!(b"llama_context_default_params": unsafe extern "C" fn() -> Block);
            let make =
                function!(b"llama_init_from_model": unsafe extern "C" fn(Handle, Block) -> Handle);
            let set_threads =
                function!(b"llama_set_n_threads": unsafe extern "C" fn(Handle, i32, i32));
            let memory = function!(b"llama_get_memory": unsafe extern "C" fn(Handle) -> Handle);
            let path = CString::new(model.to_str().unwrap()).unwrap();
            let model = load(path.as_ptr().cast(), model_defaults());
            assert!(!model.is_null());
            let mut told = context_defaults();
            for (to, from) in told.0.iter_mut().zip((CONTEXT as u32).to_ne_bytes()) {
                to.write(from);
            }
            let context = make(model, told);
            assert!(!context.is_null());
            set_threads(context, threads, threads);
            Bare {
                context,
                memory: memory(context),
                vocabulary,
                get_one: function!(b"llama_batch_get_one": unsafe extern "C" fn(*mut i32, i32) -> Batch),
                decode: function!(b"llama_decode": unsafe extern "C" fn(Handle, Batch) -> i32),
                logits: function!(b"llama_get_logits_ith": unsafe extern "C" fn(Handle, i32) -> *mut f32),
                clear: function!(b"llama_memory_clear": unsafe extern "C" fn(Handle, bool)),
            }
        }
    }

    fn feed(&mut self, tokens: &mut [i32]) -> f32 {
        // SAFETY: the tokens live during the call, and the last one has as many scores as the model knows tokens.
        unsafe {
            let batch = (self.get_one)(tokens.as_mut_ptr(), tokens.len() as i32);
            assert_eq!((self.decode)(self.context, batch), 0);
            let scores = (self.logits)(self.context, -1);
            std::slice::from_raw_parts(scores, self.vocabulary)[7]
        }
    }
}

fn token(place: usize) -> usize {
    100 + place * 37 % 40_000
}

/// Seconds of one prompt and of each step behind it.
fn timed(mut feed: impl FnMut(&[usize]) -> f32) -> (f64, f64) {
    let prompt: Vec<usize> = (0..PROMPT).map(token).collect();
    let begin = Instant::now();
    std::hint::black_box(feed(&prompt));
    let prefill = begin.elapsed().as_secs_f64();
    let begin = Instant::now();
    for step in 0..STEPS {
        std::hint::black_box(feed(&[token(PROMPT + step)]));
    }
    (prefill, begin.elapsed().as_secs_f64() / STEPS as f64)
}

fn main() {
    let arguments: Vec<String> =
        std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    let Some(model) = arguments.first().map(PathBuf::from) else {
        println!("give a `.gguf` file");
        return;
    };
    let threads: u32 = arguments.get(2).map_or(2, |text| text.parse().unwrap());
    let engines = PathBuf::from(arguments.get(1).cloned().unwrap_or_else(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("engines");
        install(Path::new("npm"), &folder, Some(TRIED), &mut |_, _, _| {}).unwrap();
        folder.to_string_lossy().into_owned()
    }));
    let places = Places { installed: Some(engines), ..Places::default() };
    let library = engine::Engine::origin(&LlamaCpp, &places).unwrap();
    // SmolLM2's.
    let shape = DecoderShape {
        layers: 30,
        key_heads: 3,
        head_dim: 64,
        vocabulary: 49152,
        context: Some(8192),
        window: None,
        sliding_layers: 0,
    };
    let load = LoadRequest {
        gguf: Some(model.clone()),
        places,
        ..LoadRequest::of_onnx("", Device::Cpu, Precision::Stored, threads)
    };
    let mut pairs: [Vec<Vec<f64>>; 2] = Default::default();
    let mut seconds: [Vec<f64>; 4] = Default::default();
    for _ in 0..ROUNDS {
        let request = GeneratorRequest {
            load: &load,
            shape: &shape,
            batch: 1,
            context: CONTEXT,
            dialect: DecoderDialect::Standard,
        };
        let mut ours = LlamaCpp.generator(&request).unwrap().unwrap();
        let mut bare = Bare::new(&library, &model, threads as i32, shape.vocabulary);
        let mut ratios = [Vec::new(), Vec::new()];
        for turn in 0..=TURNS {
            let mut found = [(0.0, 0.0); 2];
            for side in if turn % 2 == 0 { [0, 1] } else { [1, 0] } {
                found[side] = match side {
                    0 => of_ours(&mut *ours),
                    _ => of_bare(&mut bare),
                };
            }
            // The first turn warms both up.
            if turn > 0 {
                ratios[0].push((found[0].0 / found[1].0).ln());
                ratios[1].push((found[0].1 / found[1].1).ln());
                for (list, value) in
                    seconds.iter_mut().zip([found[0].0, found[1].0, found[0].1, found[1].1])
                {
                    list.push(value);
                }
            }
        }
        for (all, ratios) in pairs.iter_mut().zip(ratios) {
            all.push(ratios);
        }
    }
    let median = |list: &[f64]| {
        let mut sorted = list.to_vec();
        sorted.sort_by(f64::total_cmp);
        sorted[sorted.len() / 2]
    };
    println!("| what | ours | bare loop | ours ÷ bare (95 %) |\n| --- | ---: | ---: | --- |");
    for (name, at, tokens) in [("prefill", 0, PROMPT as f64), ("decode", 1, 1.0)] {
        let estimate = stats::paired_ratio(&pairs[at], 1).unwrap();
        let interval = estimate.interval.unwrap();
        println!(
            "| {name} | {:.1} t/s | {:.1} t/s | {:.3} [{:.3}, {:.3}] |",
            tokens / median(&seconds[2 * at]),
            tokens / median(&seconds[2 * at + 1]),
            estimate.ratio,
            interval.low,
            interval.high
        );
    }
    if let Some(program) = arguments.get(3) {
        let output = Command::new(program)
            .args(["-m", model.to_str().unwrap(), "-t", &threads.to_string()])
            .args(["-p", &PROMPT.to_string(), "-n", &STEPS.to_string(), "-r", "10"])
            .output()
            .unwrap();
        println!("{}", String::from_utf8_lossy(&output.stdout));
    }
}

fn of_ours(ours: &mut dyn Generator) -> (f64, f64) {
    ours.clear().unwrap();
    let mut tokens = Vec::new();
    timed(|wanted| {
        tokens.clear();
        tokens.extend(wanted.iter().map(|token| *token as i64));
        ours.feed(&tokens).unwrap();
        ours.scores().unwrap()[7]
    })
}

fn of_bare(bare: &mut Bare) -> (f64, f64) {
    // SAFETY: the memory belongs to the context, which lives.
    unsafe { (bare.clear)(bare.memory, false) };
    let mut tokens = Vec::new();
    timed(|wanted| {
        tokens.clear();
        tokens.extend(wanted.iter().map(|token| *token as i32));
        bare.feed(&mut tokens)
    })
}
