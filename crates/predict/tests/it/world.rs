//! Worlds whose law is known: every machine is off from it by an amount of its own.

use stats::Generator;
use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

pub(crate) const HEADER: &str = "vendor,instance,arch,cpu,cpus,threads_per_core,sockets,max_mhz,l2,l3,avx2,avx512,vnni,\
                      amx_int8,asimd,sve,read_1mb_mb_s,read_ram_mb_s,backend,gpu,model,model_bytes,parameters,threads,\
                      n_prompt,n_gen,tokens_per_s,sd";

pub(crate) struct World {
    seed: u64,
    machines: usize,
    pub(crate) models: Vec<(String, f64, f64)>,
}

impl World {
    pub(crate) fn new(seed: u64, machines: usize) -> World {
        let model = |name: &str, bytes: f64, parameters: f64| (name.to_owned(), bytes, parameters);
        World {
            seed,
            machines,
            models: vec![
                model("small.gguf", 1.5e9, 2.5e9),
                model("middle.gguf", 4.1e9, 6.7e9),
                model("large.gguf", 9.0e9, 14.7e9),
            ],
        }
    }

    /// Rows of llama-bench: bytes ÷ bandwidth for a token, operations ÷ peak for a prompt.
    pub(crate) fn rows(&self) -> Vec<String> {
        let mut random = Generator::new(self.seed);
        let mut rows = Vec::new();
        for machine in 0..self.machines {
            let own = 0.1 * random.normal();
            let has_vnni = machine % 2;
            for cpus in [4usize, 16, 64] {
                let ram = 6e9 * (cpus as f64).powf(0.8) * (0.3 * random.normal()).exp();
                let peak = cpus as f64 * 3e9 * if has_vnni == 1 { 90.0 } else { 40.0 };
                for (model, bytes, parameters) in &self.models {
                    for (prompt, generated) in [(512, 0), (0, 128)] {
                        let law = if prompt > 0 { 2.0 * parameters / peak } else { bytes / (0.7 * ram) };
                        let seconds = law * (own + 0.03 * random.normal()).exp();
                        rows.push(format!(
                            "v,i{cpus},x86_64,Chip {}-{machine},{cpus},2,1,,{} ({cpus} instances),33554432 (1 instance),1,\
                             {has_vnni},{has_vnni},0,0,0,{},{},CPU,,{model},{bytes},{parameters},{cpus},{prompt},\
                             {generated},{},0.1",
                            self.seed,
                            cpus * 1_048_576,
                            ram * 1e-5,
                            ram * 1e-6,
                            1.0 / seconds
                        ));
                    }
                }
            }
        }
        rows
    }
}

pub(crate) fn write(folder: &Path, name: &str, rows: &[String]) -> PathBuf {
    let path = folder.join(name);
    fs::write(&path, format!("{HEADER}\n{}\n", rows.join("\n"))).unwrap();
    path
}

/// A table of timm: every model has an efficiency of its own, the same on all cards.
pub(crate) fn timm(folder: &Path, card: &str, peak: f64, bandwidth: f64, slower: f64) -> PathBuf {
    let mut random = Generator::new(5);
    let mut noise = Generator::new(peak as u64);
    let mut text = String::from(
        "model,infer_img_size,infer_batch_size,infer_samples_per_sec,infer_step_time,infer_gmacs,infer_macts,param_count\n",
    );
    for number in 0..240 {
        let family = ["resnet", "vit_", "swin_", "convnext", "regnety", "mixer_"][number % 6];
        let macs = (3.0 * random.normal() * 0.5 + 1.0).exp();
        let activations = (3.0 * random.normal() * 0.4 + 2.0).exp();
        let own = 0.2 * random.normal();
        let law = 2.0 * macs * 1e9 / (0.6 * peak) + 6.0 * activations * 1e6 / (0.8 * bandwidth);
        let seconds = slower * law * (own + 0.03 * noise.normal()).exp();
        let batch = 256.0;
        let _ = writeln!(
            text,
            "{family}{number},224,{batch},{},{},{macs},{activations},{}",
            1.0 / seconds,
            batch * seconds * 1e3,
            macs * 6.0
        );
    }
    let path = folder.join(format!("benchmark-infer-amp-nchw-pt291-cu128-{card}.csv"));
    fs::write(&path, text).unwrap();
    path
}
