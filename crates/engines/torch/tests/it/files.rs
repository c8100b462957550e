//! Pictures and recordings made ready in every sample, as the other engines make them.

use crate::{
    train::{STEP_PHASES, noise, training, training_job},
    worker::{Worker, floats, job_with, python},
};
use engine::{EngineErrorKind, LoadJob, Media, Reply, Request, Window};
use std::{fs, path::Path, process::Command, time::Duration};
use types::{
    Elements, Filter, ImageRecipe, Loss, MediaJob, MediaRecipe, Module, Optimizer, Phase, Resize,
    SoundRecipe, SpectrogramRecipe,
};

/// Two pictures and a recording of one and a half seconds.
const FILES: &str = r#"
import math, struct, wave
from PIL import Image

picture = Image.new("RGB", (130, 90))
for y in range(90):
    for x in range(130):
        picture.putpixel((x, y), tuple(int(127 + 120 * math.sin(y / 7 + c) * math.cos(x / (9 + c))) for c in range(3)))
picture.save("wide.png")
picture.transpose(Image.Transpose.ROTATE_90).save("high.png")
with wave.open("sweep.wav", "wb") as file:
    file.setnchannels(2)
    file.setsampwidth(2)
    file.setframerate(16000)
    for n in range(24000):
        level = int(9000 * math.sin(n * n / 90000) + 3000 * math.sin(n / 5))
        file.writeframesraw(struct.pack("<hh", level, level // 2))
"#;

/// A module that writes down what came in last.
const MODULE: &str = r#"
import torch

class Listener(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.ones(1))

    def forward(self, x):
        x.detach().numpy().tofile("SEEN")
        return x * self.scale

def make():
    return Listener()
"#;

fn listener(folder: &Path) -> Module {
    let done = Command::new(python()).args(["-c", FILES]).current_dir(folder).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let file = folder.join("listener.py");
    fs::write(&file, MODULE.replace("SEEN", folder.join("seen").to_str().unwrap())).unwrap();
    Module::Factory { file, function: "make".into() }
}

/// A job whose input is made of these files; its file of inputs has other numbers.
fn with_files(mut job: LoadJob, folder: &Path, files: &[&str], recipe: MediaRecipe) -> LoadJob {
    let files = files.iter().map(|file| folder.join(file)).collect();
    job.media = Some(MediaJob { input: "x".into(), files, recipe });
    job
}

/// How far what the module saw last is from what the other engines make of the same files.
fn distance(job: &LoadJob, folder: &Path) -> f32 {
    let made = Media::open(job.media.as_ref().unwrap(), &job.inputs).unwrap().make().unwrap();
    let Elements::F32(made) = made.elements else { panic!("not floats") };
    let seen = fs::read(folder.join("seen")).unwrap();
    let seen = seen.chunks_exact(4).map(|bytes| f32::from_le_bytes(bytes.try_into().unwrap()));
    let seen: Vec<f32> = seen.collect();
    assert_eq!(seen.len(), made.len());
    seen.iter().zip(&made).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
}

fn window(worker: &mut Worker) -> Window {
    match worker.ask(&Request::Run { count: 2, budget: Duration::from_secs(60) }) {
        Reply::Window(window) => window,
        other => panic!("{other:?}"),
    }
}

fn image(channels_last: bool) -> MediaRecipe {
    MediaRecipe::Image(ImageRecipe {
        resize: Some(Resize::Shortest { edge: 40 }),
        filter: Filter::Bicubic,
        crop: Some([32, 36]),
        rescale: 1.0 / 255.0,
        mean: [0.5, 0.4, 0.3],
        std: [0.5, 0.25, 0.2],
        channels_last,
    })
}

#[test]
fn files_are_made_ready_in_every_sample_as_the_other_engines_do() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let module = listener(folder);
    let sound = |normalize| MediaRecipe::Sound(SoundRecipe { rate: 16_000, normalize });
    let spectrogram = MediaRecipe::Spectrogram(SpectrogramRecipe {
        rate: 16_000,
        bands: 80,
        frames: 200,
        window: 400,
        hop: 160,
    });
    // Two levels of 255, in the units of the narrowest colour.
    let levels = 2.01 / 255.0 / 0.2;
    let pictures = ["wide.png", "high.png"];
    let cases: [(&[&str], &[usize], MediaRecipe, f32); 5] = [
        (&pictures, &[2, 3, 32, 36], image(false), levels),
        (&pictures, &[2, 32, 36, 3], image(true), levels),
        (&["sweep.wav"], &[1, 24_000], sound(true), 1e-4),
        // What is longer than the recording is silence.
        (&["sweep.wav"], &[1, 25_000], sound(false), 1e-6),
        (&["sweep.wav"], &[1, 80, 200], spectrogram, 1e-3),
    ];
    let mut worker = Worker::start();
    for (number, (files, dims, recipe, allowed)) in cases.into_iter().enumerate() {
        let zeros = floats("x", dims, &vec![0.0; dims.iter().product()]);
        let job = with_files(job_with(module.clone(), &[zeros], folder), folder, files, recipe);
        if number > 0 {
            worker = Worker::start();
        }
        worker.load(&job);
        let window = window(&mut worker);
        let phases: Vec<Phase> = window.samples.iter().map(|samples| samples.phase).collect();
        assert_eq!(phases, [Phase::Preprocess, Phase::Inference, Phase::Total]);
        let of = |at: usize| window.samples[at].nanos[1];
        assert!(of(0) > 0 && of(0) + of(1) <= of(2), "{} and {} of {}", of(0), of(1), of(2));
        let far = distance(&job, folder);
        assert!(far <= allowed, "case {number}: {far} is more than {allowed}");
        // Engines are compared on the numbers of the job, whoever decoded the file.
        let outputs = worker.outputs(folder);
        let Elements::F32(output) = &outputs[0].elements else { panic!("not floats") };
        assert!(output.iter().all(|value| *value == 0.0));
    }
}

#[test]
fn a_training_makes_files_ready_in_a_phase_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let dims = [2, 3, 32, 36];
    let job = training_job(
        listener(folder),
        &[floats("x", &dims, &vec![0.0; dims.iter().product()])],
        noise("labels", &dims),
        "output",
        training(Optimizer::Sgd, Loss::Mse, 1e-6),
        folder,
    );
    let job = with_files(job, folder, &["wide.png", "high.png"], image(false));
    let mut worker = Worker::start();
    worker.load(&job);
    let window = worker.steps(2);
    let phases: Vec<Phase> = window.samples.iter().map(|samples| samples.phase).collect();
    assert_eq!(phases[0], Phase::Preprocess);
    assert_eq!(phases[1..], STEP_PHASES);
    assert!(window.samples.iter().all(|samples| samples.nanos.len() == 2));
    assert!(distance(&job, folder) <= 2.01 / 255.0 / 0.2);
}

#[test]
fn a_file_that_cannot_be_made_ready_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let module = listener(folder);
    let mut worker = Worker::start();
    let sound = |rate| MediaRecipe::Sound(SoundRecipe { rate, normalize: false });
    for (file, recipe, why) in [
        ("sweep.wav", sound(8000), "it has 16000 samples per second, the model takes 8000"),
        ("wide.png", sound(16_000), "it is no WAV file"),
        ("sweep.wav", image(false), "cannot identify image file"),
    ] {
        let input = floats("x", &[1, 3, 32, 36], &[0.0; 3 * 32 * 36]);
        let job = with_files(job_with(module.clone(), &[input], folder), folder, &[file], recipe);
        worker.load(&job);
        match worker.ask(&Request::Run { count: 1, budget: Duration::ZERO }) {
            Reply::Failed(failure) => {
                assert_eq!(failure.kind, EngineErrorKind::BadInput, "{failure:?}");
                assert!(failure.message.contains(file), "{failure:?}");
                assert!(failure.causes[0].contains(why), "{failure:?}");
            }
            other => panic!("{other:?}"),
        }
        worker = Worker::start();
    }
}
