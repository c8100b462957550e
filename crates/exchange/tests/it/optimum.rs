//! optimum-benchmark: the files were written by version 0.6.0 itself, on a processor.

use crate::{close, fixture, imported, metric, only, remarks, source};
use modelmeter_exchange::{Format, import};
use types::{Device, Mode, Phase, Precision, ReasonCode};

#[test]
fn an_inference_comes_in_with_its_samples_and_its_machine() {
    let run = only("optimum_benchmark_inference.json");
    assert_eq!(source(&run).tool, "optimum-benchmark");
    assert_eq!(source(&run).version.as_deref(), Some("0.6.0"));
    assert_eq!(source(&run).file, "optimum_benchmark_inference.json");
    assert_eq!(source(&run).corrections, []);
    assert_eq!((run.cell.model.as_str(), run.cell.engine.as_str()), ("tiny-bert", "torch"));
    assert_eq!((run.cell.device, run.cell.precision), (Device::Cpu, Precision::Fp32));
    assert_eq!((run.cell.batch_size, run.cell.sequence_length), (2, Some(16)));
    assert_eq!((run.cell.threads, run.cell.seed, run.warmup.runs), (1, 42, 2));
    assert_eq!(run.samples_of(Phase::Inference).unwrap().len(), 12);
    assert_eq!(run.samples_of(Phase::Inference).unwrap()[0], 11_935_947);
    // The tool's own median of the same values.
    close(run.summaries[&Phase::Inference].median, 0.011_900_520_999_915_898);
    close(metric(&run, "throughput.samples"), 102.717_628_111_491_12);
    close(metric(&run, "memory.peak"), 945.5616e6);
    close(run.cold.load.as_secs_f64(), 0.064_124_177);
    close(run.cold.first_inference.as_secs_f64(), 0.074_171_896);
    assert_eq!(run.environment.machine.cpu.model, "Intel(R) Xeon(R) Processor @ 2.50GHz");
    assert!(run.environment.machine.key.starts_with("imported-"));
    assert!(!run.tells("cold.process_start") && !run.tells("work.flops") && run.tells("cold.load"));
    assert!(run.verdict.valid, "{}", remarks(&run));
}

#[test]
fn the_rate_of_a_training_is_divided_by_the_number_of_its_steps() {
    let run = only("optimum_benchmark_training.json");
    assert_eq!(run.cell.mode, Mode::Training);
    assert_eq!(run.samples_of(Phase::Total).unwrap().len(), 10);
    assert_eq!((run.cell.batch_size, run.cell.sequence_length, run.warmup.runs), (2, Some(16), 4));
    // 10 steps of 2 samples, 0.2594 s each: the file says 77.09 samples per second, which is 10 times too many.
    close(metric(&run, "throughput.samples"), 2.0 / 0.259_428_796_100_837_63);
    let correction = &source(&run).corrections[0];
    assert_eq!(correction.what, "throughput.samples");
    close(correction.stated.unwrap(), 77.092_444_249_042_34);
    close(correction.stated.unwrap() / correction.stored.unwrap(), 10.0);
    assert!(remarks(&run).contains("by the time of one, 10.0"));
    assert!(!run.verdict.valid, "ten samples do not support a median");
}

#[test]
fn a_report_without_its_configuration_says_what_is_missing() {
    let run = only("optimum_benchmark_report.json");
    assert_eq!(run.cell.batch_size, 2, "it follows from the rate");
    close(metric(&run, "throughput.samples"), 2.0 / 0.259_428_796_100_837_63);
    for path in ["cell.model", "cell.device", "cell.precision", "started_at", "cold.load"] {
        assert!(!run.tells(path), "{path}");
    }
    assert_eq!(source(&run).version, None);
}

#[test]
fn tokens_are_not_samples_a_warm_run_is_not_the_first_and_no_token_counts_twice() {
    let run = only("optimum_benchmark_generation.json");
    let all = &source(&run).corrections;
    let what: Vec<&str> = all.iter().map(|correction| correction.what.as_str()).collect();
    assert_eq!(what, ["cold.first_inference", "throughput.samples", "per_token.latency"]);
    // 2 samples of 4 tokens after the first: the file counts 8 of them.
    close(all[1].stated.unwrap() / all[1].stored.unwrap(), 4.0);
    assert!(!run.tells("cold.first_inference"));
    // 3 generations of 5 tokens: 27 times in the file, of which 12 are times of a token.
    let values = tokens();
    let last: Vec<f64> = values[13..].to_vec();
    let mut own: Vec<f64> = last.chunks(5).flat_map(|chunk| chunk[..4].to_vec()).collect();
    assert_eq!((values.len(), own.len()), (27, 12));
    own.sort_unstable_by(f64::total_cmp);
    close(metric(&run, "per_token.latency"), (own[5] + own[6]) / 2.0);
    close(metric(&run, "throughput.tokens"), 577.223_538_358_507_8);
    close(metric(&run, "prefill.latency"), 0.005_468_611_998_367_123);
}

fn tokens() -> Vec<f64> {
    let bytes = fixture("optimum_benchmark_generation.json");
    let value: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
    let values = value["report"]["per_token"]["latency"]["values"].as_array().unwrap();
    values.iter().map(|value| value.as_f64().unwrap()).collect()
}

/// The inference's file with one thing changed.
fn changed(from: &str, to: &str) -> Vec<u8> {
    let text = String::from_utf8(fixture("optimum_benchmark_inference.json")).unwrap();
    assert!(text.contains(from), "{from}");
    text.replace(from, to).into_bytes()
}

#[test]
fn a_device_that_nobody_waits_for_makes_the_times_worthless() {
    let bytes = changed("\"device\": \"cpu\"", "\"device\": \"mps\"");
    let run = import("b.json", &bytes, None).unwrap().runs.remove(0);
    assert_eq!(run.cell.device, Device::Mps);
    assert!(!run.verdict.valid);
    assert_eq!(run.verdict.reasons[0].code, ReasonCode::NotSynchronised);
}

#[test]
fn memory_that_was_added_up_on_rocm_is_left_out() {
    let bytes = changed("\"device\": \"cpu\"", "\"device\": \"cuda\"");
    let text = String::from_utf8(bytes).unwrap();
    let text = text.replace("\"max_process_vram\": null", "\"max_process_vram\": 123456789.0");
    let text =
        text.replace("\"python_version\"", "\"gpu\": [\"AMD Instinct MI210\"], \"python_version\"");
    let run = import("b.json", text.as_bytes(), None).unwrap().runs.remove(0);
    assert_eq!(run.cell.device, Device::Rocm(0));
    let metric = run.metric("gpu.memory.process").unwrap();
    assert_eq!(metric.value, None);
    assert!(metric.why.as_ref().unwrap().contains("adds up"));
    assert_eq!(source(&run).corrections[0].stored, None);
}

#[test]
fn a_rate_that_is_right_already_is_left_alone() {
    let text = String::from_utf8(fixture("optimum_benchmark_training.json")).unwrap();
    let text = text.replace("77.09244424904234", "7.709244424904234");
    let imported = import("b.json", text.as_bytes(), None).unwrap();
    assert_eq!(imported.corrections().count(), 0);
}

#[test]
fn the_same_result_has_the_same_name_in_every_file() {
    let bytes = fixture("optimum_benchmark_inference.json");
    let name = |file: &str| import(file, &bytes, None).unwrap().runs.remove(0).id;
    assert_eq!(name("a.json"), name("folder/b.json"));
    assert_eq!(name("a.json").0.len(), 16);
    assert_ne!(name("a.json"), only("optimum_benchmark_training.json").id);
    let imported = imported("optimum_benchmark_inference.json");
    assert_eq!(imported.format, Format::OptimumBenchmark);
    assert_eq!(modelmeter_exchange::key(&imported.runs[0]), imported.runs[0].id.0);
}
