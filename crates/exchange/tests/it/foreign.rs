//! The other tools, one fixture of each.

use crate::{close, fixture, imported, metric, only, remarks, source};
use modelmeter_exchange::{Format, Given, import, import_with};
use types::{Device, Mode, Phase, Precision};

#[test]
fn every_fixture_is_recognised_by_its_content() {
    for (name, format) in [
        ("optimum_benchmark_inference.json", Format::OptimumBenchmark),
        ("optimum_benchmark_report.json", Format::OptimumBenchmark),
        ("llama_bench.json", Format::LlamaBench),
        ("llama_bench.jsonl", Format::LlamaBench),
        ("llama_bench.sql", Format::LlamaBenchSql),
        ("onnxruntime_2026-11-16_20-09-14_009.json", Format::OnnxRuntime),
        ("trtexec_times.json", Format::TrtexecTimes),
        ("trtexec_times_old.json", Format::TrtexecTimes),
        ("trtexec_profile.json", Format::TrtexecProfile),
        ("mlperf_single_stream.txt", Format::Mlperf),
        ("benchmark-infer-amp-nchw-pt240-cu124-rtx4090.csv", Format::Timm),
        ("benchmark-train-amp-nchw-pt112-cu113-rtx3090.csv", Format::Timm),
    ] {
        // The name says nothing here.
        assert_eq!(Format::detect("x", &fixture(name)).unwrap(), format, "{name}");
        let imported = imported(name);
        assert!(imported.problems.is_empty(), "{name}: {:?}", imported.problems);
        for run in &imported.runs {
            assert!(
                run.imported.is_some()
                    && run.verdict.reasons.iter().any(|r| r.text.contains("measured by"))
            );
            assert!(
                run.metrics.iter().all(|metric| metric.provenance == types::Provenance::Imported)
            );
        }
    }
}

#[test]
fn llama_bench_gives_every_repetition_and_a_rate_over_the_whole_time() {
    let imported = imported("llama_bench.json");
    let [prompt, generation, both] = imported.runs.as_slice() else { panic!("three tests") };
    // A prompt and a text are the cells that `modelmeter generate` has, so they can be held against each other.
    assert_eq!(prompt.cell.generation.unwrap().name(), "pp512");
    assert_eq!(generation.cell.generation.unwrap().name(), "tg128");
    assert_eq!((prompt.cell.mode, generation.cell.mode), (Mode::Generate, Mode::Generate));
    assert_eq!((both.cell.mode, both.cell.generation), (Mode::Inference, None));
    assert!(remarks(generation).contains("the mean step of one repetition of 128 tokens"));
    let (rate, samples) =
        (metric(generation, "throughput.tokens"), generation.samples_of(Phase::Inference).unwrap());
    let mean = samples.iter().sum::<u64>() as f64 / samples.len() as f64;
    close(rate * mean / 1e9, 1.0);
    assert_eq!(both.cell.options.settings["test"], "pp512+tg128 @ d4096");
    assert_eq!(prompt.cell.model, "SmolLM2-135M-Instruct-Q4_K_M");
    assert_eq!((prompt.cell.device, prompt.cell.threads), (Device::Cuda(0), 4));
    assert_eq!(prompt.cell.precision, Precision::Int8);
    assert!(remarks(prompt).contains("Q4_K - Medium"));
    assert_eq!(prompt.model.parameters, 134_515_008);
    assert_eq!(prompt.started_at, 1_790_932_530_000_000);
    assert_eq!(prompt.engine.version, "b6640 (3f1ae2d0)");
    assert_eq!(prompt.samples_of(Phase::Inference).unwrap()[0], 80_000_000);
    // 512 tokens in 32 ms on average; the mean of the five rates is 21 760, half as much again.
    close(metric(prompt, "throughput.tokens"), 16_000.0);
    let correction = &source(prompt).corrections[0];
    close(correction.stated.unwrap(), 21_760.0);
    close(correction.stored.unwrap(), 16_000.0);
    assert!(!prompt.verdict.valid && remarks(prompt).contains("5 samples are too few"));
    assert!(generation.verdict.valid, "{}", remarks(generation));
    assert_eq!(source(generation).corrections, []);
    assert_eq!(imported.corrections().count(), 1);
}

#[test]
fn llama_bench_in_sql_has_statistics_alone_and_says_so() {
    let imported = imported("llama_bench.sql");
    let run = &imported.runs[1];
    assert!(run.samples.is_empty() && run.summaries.is_empty());
    let stated = run.stated(Phase::Inference).unwrap();
    close(stated.mean.unwrap(), 0.511_5 / 128.0);
    assert_eq!((stated.median, stated.count), (None, None));
    assert!(remarks(run).contains("no samples"));
    assert_eq!(run.environment.machine.cpu.model, "Joe's AMD EPYC 7B13");
    close(metric(run, "throughput.tokens"), 128.0 / 0.511_5);
}

#[test]
fn the_profile_of_onnxruntime_keeps_its_first_run_apart_and_its_nodes() {
    let run = only("onnxruntime_2026-11-16_20-09-14_009.json");
    assert_eq!((run.cell.model.as_str(), run.cell.engine.as_str()), ("onnxruntime", "onnxruntime"));
    assert_eq!(
        (run.cell.device, run.engine.placement.as_str()),
        (Device::Cpu, "CPUExecutionProvider")
    );
    assert_eq!(run.cold.first_inference.as_micros(), 239);
    assert_eq!(run.cold.load.as_micros(), 632 + 20_540);
    assert_eq!(run.samples_of(Phase::Inference).unwrap().len(), 4);
    assert!(remarks(&run).contains("profiler was on"));
    let profile = source(&run).profile.as_ref().unwrap();
    assert_eq!(profile.runs, 4);
    let names: Vec<(&str, &str, u64)> = profile
        .layers
        .iter()
        .map(|layer| (layer.path.as_str(), layer.kind.as_str(), layer.calls))
        .collect();
    assert_eq!(
        names,
        [("/classifier/MatMul/MatMulAddFusion", "Gemm", 4), ("/Softmax", "Softmax", 4)]
    );
    assert!(profile.layers.iter().map(|layer| layer.nanos).sum::<u64>() <= profile.total_nanos);
}

#[test]
fn a_node_that_holds_others_is_not_counted_twice() {
    let text = r#"[
{"cat":"Session","pid":1,"tid":1,"dur":9,"ts":0,"ph":"X","name":"model_run","args":{}},
{"cat":"Session","pid":1,"tid":1,"dur":100,"ts":10,"ph":"X","name":"model_run","args":{}},
{"cat":"Node","pid":1,"tid":1,"dur":50,"ts":11,"ph":"X","name":"loop_kernel_time","args":{"op_name":"Loop"}},
{"cat":"Node","pid":1,"tid":1,"dur":20,"ts":12,"ph":"X","name":"add_kernel_time","args":{"op_name":"Add"}},
{"cat":"Node","pid":1,"tid":1,"dur":20,"ts":34,"ph":"X","name":"add_kernel_time","args":{"op_name":"Add"}},
{"cat":"Node","pid":1,"tid":1,"dur":5,"ts":70,"ph":"X","name":"last_kernel_time","args":{"op_name":"Mul"}}
]"#;
    let run = import("p.json", text.as_bytes(), None).unwrap().runs.remove(0);
    let layers = &source(&run).profile.as_ref().unwrap().layers;
    let times: Vec<(&str, u64)> =
        layers.iter().map(|layer| (layer.path.as_str(), layer.nanos)).collect();
    assert_eq!(times, [("loop", 10_000), ("add", 40_000), ("last", 5_000)]);
}

#[test]
fn trtexec_gives_latency_and_compute_and_a_rate_over_the_wall() {
    let run = only("trtexec_times.json");
    assert_eq!((run.cell.device, run.cell.engine.as_str()), (Device::Tensorrt(0), "tensorrt"));
    assert_eq!(run.samples_of(Phase::Inference).unwrap()[0], 1_875_000);
    assert_eq!(run.samples_of(Phase::Device).unwrap()[0], 1_500_000);
    // 12 queries, begun 1.5 ms apart; the last one takes 1.895 ms.
    close(metric(&run, "throughput.queries"), 12.0 / (11.0 * 1.5 + 1.895) * 1e3);
    assert!(run.metric("throughput.samples").is_none() && !run.tells("cell.batch_size"));
    let given = Given { batch_size: Some(8), model: Some("no".into()), ..Given::default() };
    let bytes = fixture("trtexec_times.json");
    let told = import_with("trtexec_times.json", &bytes, None, &given).unwrap().runs.remove(0);
    close(metric(&told, "throughput.samples"), 8.0 * metric(&run, "throughput.queries"));
    assert_eq!(
        (told.cell.batch_size, told.cell.model.as_str()),
        (8, "no"),
        "the caller names the model"
    );
    assert_eq!(told.id, run.id, "what the caller knows does not make it another result");
    assert!(remarks(&run).contains("batch size") && !remarks(&told).contains("batch size"));
}

#[test]
fn the_warm_up_in_files_of_older_trtexec_is_left_out() {
    let run = only("trtexec_times_old.json");
    let samples = run.samples_of(Phase::Device).unwrap();
    assert_eq!((samples.len(), run.warmup.runs), (13, 7));
    assert!(samples.iter().all(|nanos| *nanos == 1_500_000));
    assert_eq!(source(&run).corrections[0].what, "samples");
}

#[test]
fn the_layers_of_trtexec_come_without_a_time_of_the_whole() {
    let run = only("trtexec_profile.json");
    let profile = source(&run).profile.as_ref().unwrap();
    assert_eq!((profile.runs, profile.layers.len()), (10, 4));
    assert_eq!(profile.layers[1].nanos, 18_500_000);
    assert!(run.stated(Phase::Inference).is_none());
    close(run.stated(Phase::Device).unwrap().mean.unwrap(), 3.6e-3);
}

#[test]
fn mlperf_states_percentiles_and_its_own_verdict() {
    let run = only("mlperf_single_stream.txt");
    let stated = run.stated(Phase::Inference).unwrap();
    close(stated.p90.unwrap(), 0.004_943_357);
    close(stated.median.unwrap(), 0.001_005_388);
    assert_eq!(stated.count, Some(163));
    close(metric(&run, "throughput.samples"), 542.48);
    assert_eq!(run.cell.options.settings["scenario"], "SingleStream");
    assert!(run.verdict.valid && !run.tells("cell.device") && !run.tells("cell.model"));

    let offline = only("mlperf_offline.txt");
    assert!(offline.stated(Phase::Inference).is_none(), "a position in the queue is no latency");
    close(metric(&offline, "throughput.samples"), 452.054);

    let server = only("mlperf_server_invalid.txt");
    assert!(!server.verdict.valid);
    assert!(
        remarks(&server).contains("INVALID, not satisfied: Min duration satisfied, Min queries")
    );
}

#[test]
fn the_folders_of_a_submission_name_model_and_system() {
    let bytes = fixture("mlperf_offline.txt");
    let path =
        "closed/org/results/H200x8/resnet50/Offline/performance/run_1/mlperf_log_summary.txt";
    let given = Given { device: Some(Device::Cuda(0)), ..Given::default() };
    let run = import_with(path, &bytes, None, &given).unwrap().runs.remove(0);
    assert_eq!((run.cell.model.as_str(), run.cell.device), ("resnet50", Device::Cuda(0)));
    assert_eq!(run.environment.machine.hostname, "H200x8");
    assert_eq!(source(&run).file, "mlperf_log_summary.txt");
}

#[test]
fn the_tables_of_timm_give_one_run_a_row() {
    let imported = imported("benchmark-infer-amp-nchw-pt240-cu124-rtx4090.csv");
    assert_eq!(imported.runs.len(), 3);
    let run = &imported.runs[1];
    assert_eq!((run.cell.model.as_str(), run.cell.batch_size), ("resnet18", 1024));
    assert_eq!((run.cell.device, run.cell.precision), (Device::Cuda(0), Precision::Fp16));
    assert_eq!(run.engine.version, "2.4.0");
    assert_eq!(run.environment.machine.gpus[0].name, "rtx4090");
    assert_eq!(run.model.parameters, 11_690_000);
    // 1.82 giga multiply-adds a sample are 3.64 GFLOP.
    close(run.work.flops.0 as f64, 1.82e9 * 2.0 * 1024.0);
    close(run.stated(Phase::Inference).unwrap().mean.unwrap(), 0.075_62);
    close(metric(run, "throughput.images"), 13_537.15);
    assert!(run.samples.is_empty() && remarks(run).contains("no samples"));

    let training = crate::imported("benchmark-train-amp-nchw-pt112-cu113-rtx3090.csv");
    assert_eq!(training.runs[0].cell.mode, Mode::Training);
    close(training.runs[0].stated(Phase::Total).unwrap().mean.unwrap(), 0.184_877);
}
