//! Files that are broken, cut off, of another kind, or hold what nothing measures.

use crate::fixture;
use modelmeter_exchange::{Error, Format, Place, import};

fn text(name: &str) -> String {
    String::from_utf8(fixture(name)).unwrap()
}

/// What is said of a file that cannot be read.
fn refused(name: &str, text: &str, format: Option<Format>) -> String {
    import(name, text.as_bytes(), format).unwrap_err().to_string()
}

#[test]
fn what_is_no_result_is_refused_with_the_formats_that_are() {
    for (text, why) in [
        ("", "it is empty"),
        ("   \n", "it is empty"),
        ("\0\u{1}binary", "it is not text"),
        ("hello world\n", "it begins with `hello world`"),
        ("a;b;c\n1;2;3\n", "it begins with `a;b;c`"),
        ("{\"a\": 1}", "of an unknown tool"),
        ("{\"traceEvents\": []}", "another profiler"),
        ("model,top1,top5\nresnet18,70,90\n", "accuracies"),
    ] {
        let said = refused("x.bin", text, None);
        assert!(said.contains(why) && said.contains("optimum-benchmark"), "{said}");
    }
}

#[test]
fn a_report_of_ours_is_not_taken_for_an_export() {
    let error =
        import("r.json", br#"{"schema": "modelmeter.run/1", "id": "x"}"#, None).unwrap_err();
    assert!(matches!(error, Error::Report { .. }));
    assert!(error.to_string().contains("export with `--format jsonl`"));
}

#[test]
fn a_file_that_ends_too_early_says_where() {
    for name in [
        "optimum_benchmark_inference.json",
        "llama_bench.json",
        "trtexec_times.json",
        "trtexec_profile.json",
    ] {
        let whole = text(name);
        let cut = &whole[..whole.len() * 3 / 4];
        let said = refused(name, cut, None);
        assert!(said.contains("line ") && said.contains("ends too early"), "{name}: {said}");
    }
    let whole = text("mlperf_single_stream.txt");
    assert!(refused("m.txt", &whole[..170], None).contains("ends too early"));
}

#[test]
fn a_profile_that_was_cut_off_gives_what_is_whole_of_it() {
    let whole = text("onnxruntime_2026-11-16_20-09-14_009.json");
    let imported = import("p.json", &whole.as_bytes()[..whole.len() * 3 / 4], None).unwrap();
    assert_eq!(imported.problems.len(), 1);
    assert!(imported.problems[0].to_string().contains("ends too early"));
    assert_eq!(imported.runs.len(), 1);
    assert!(refused("p.json", &whole[..200], None).contains("line "));
}

#[test]
fn one_bad_record_does_not_cost_the_others() {
    let sql =
        text("llama_bench.sql").replacen("'80000000'", "'x'", 1).replace("'32000000'", "'-5'");
    let imported = import("l.sql", sql.as_bytes(), None).unwrap();
    assert_eq!((imported.runs.len(), imported.problems.len()), (1, 1));
    assert!(
        imported.problems[0].to_string().contains("`avg_ns`: is negative (-5)"),
        "{}",
        imported.problems[0]
    );

    let json = text("llama_bench.json").replace("[ 80000000, 20000000", "[ 80000000, NaN");
    let imported = import("l.json", json.as_bytes(), None).unwrap();
    assert_eq!((imported.runs.len(), imported.problems.len()), (2, 1));
    assert_eq!(imported.problems[0].place, Place::Field("[0].samples_ns[1]".into()));

    let lines = text("llama_bench.jsonl").replacen("{", "{,", 1);
    let imported = import("l.jsonl", lines.as_bytes(), Some(Format::LlamaBench)).unwrap();
    assert_eq!((imported.runs.len(), imported.problems.len()), (1, 1));
    assert_eq!(imported.problems[0].place, Place::Line { line: 1, column: 0 });
}

#[test]
fn rows_of_a_table_are_judged_one_by_one() {
    let table = "model,infer_samples_per_sec,infer_step_time,infer_batch_size,infer_img_size\n\
        good,1000,256,256,224\n\
        short,1000,256\n\
        words,fast,256,256,224\n\
        negative,1000,-256,256,224\n\
        none,NaN,256,256,224\n\
        seconds,1000,0.256,256,224\n\
        ,1000,256,256,224\n";
    let imported = import("benchmark.csv", table.as_bytes(), None).unwrap();
    assert_eq!(imported.runs.len(), 1);
    let said: Vec<String> = imported.problems.iter().map(ToString::to_string).collect();
    for (line, why) in [
        (3, "has 3 cells, the header has 5"),
        (4, "`infer_samples_per_sec`: is `fast`, not a number"),
        (5, "`infer_step_time`: is -256, which is not possible"),
        (6, "`infer_samples_per_sec`: is NaN"),
        (7, "wrong units?"),
        (8, "`model`: is empty"),
    ] {
        let found = said.iter().find(|said| said.starts_with(&format!("line {line}")));
        assert!(found.is_some_and(|said| said.contains(why)), "{line}: {said:?}");
    }
}

#[test]
fn a_unit_that_nobody_knows_and_times_that_do_not_agree_are_named() {
    let said = refused(
        "b.json",
        &text("optimum_benchmark_inference.json").replace("\"unit\": \"s\"", "\"unit\": \"h\""),
        None,
    );
    assert!(
        said.contains("`report.load_model.latency.unit`: is `h`, an unknown unit of time"),
        "{said}"
    );
    let said = refused(
        "b.json",
        &text("optimum_benchmark_inference.json").replace("0.019470854582323227", "19.47"),
        None,
    );
    assert!(said.contains("`report.forward.latency.mean`: is 19.47 s, but the values"), "{said}");
    let said = refused(
        "b.json",
        &text("optimum_benchmark_inference.json").replace("\"values\"", "\"value\""),
        None,
    );
    assert!(said.contains("latency.values`: is missing"), "{said}");
    let said = refused(
        "b.json",
        &text("optimum_benchmark_inference.json").replace("0.011935947004531045", "-1"),
        None,
    );
    assert!(said.contains("latency.values[0]`: is negative (-1)"), "{said}");
    let times =
        text("trtexec_times.json").replacen("\"latencyMs\" : 1.875", "\"latencyMs\" : 1875", 1);
    let imported = import("t.json", times.as_bytes(), None).unwrap();
    assert!(
        imported.problems[0].to_string().contains("`[0].latencyMs`: is 1875 ms"),
        "{:?}",
        imported.problems
    );
    assert_eq!(imported.runs[0].samples[0].nanos.len(), 11);
}

#[test]
fn a_format_can_be_forced_and_is_then_held_to() {
    let said = refused("b.json", &text("llama_bench.json"), Some(Format::Mlperf));
    assert!(said.contains("as mlperf") && said.contains("Scenario"), "{said}");
    let said = refused("b.csv", "x\n1\n", Some(Format::Timm));
    assert!(said.contains("no column `model`"), "{said}");
    let said = refused("b.csv", "x\n1\n", Some(Format::Csv));
    assert!(said.contains("no column `run_id`"), "{said}");
    let said = refused("b.parquet", "PAR1 and nothing else", None);
    assert!(said.contains("as parquet"), "{said}");
}

#[test]
fn the_same_record_twice_is_taken_once() {
    let line = text("llama_bench.jsonl").lines().next().unwrap().to_owned();
    let imported = import("l.jsonl", format!("{line}\n{line}\n").as_bytes(), None).unwrap();
    assert_eq!((imported.runs.len(), imported.problems.len()), (1, 1));
    assert!(imported.problems[0].to_string().contains("twice"));
}

#[test]
fn no_cut_and_no_changed_byte_makes_a_reader_panic() {
    let names = [
        "optimum_benchmark_generation.json",
        "llama_bench.json",
        "llama_bench.sql",
        "onnxruntime_2026-11-16_20-09-14_009.json",
        "trtexec_profile.json",
        "mlperf_server_invalid.txt",
        "benchmark-infer-amp-nchw-pt240-cu124-rtx4090.csv",
    ];
    for name in names {
        let whole = fixture(name);
        let format = Format::detect(name, &whole).unwrap();
        for at in (0..whole.len()).step_by(whole.len() / 60 + 1) {
            let _ = import(name, &whole[..at], Some(format));
            for byte in [b'"', b'-', b'9', b'{', 0xff] {
                let mut changed = whole.clone();
                changed[at] = byte;
                let _ = import(name, &changed, Some(format));
            }
        }
    }
}
