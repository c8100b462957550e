//! `modelmeter gpu` around programs that use no GPU, and over a recording of a real one.

use crate::{
    bench::{Home, told},
    schema::keeps_the_schema,
};
use serde_json::Value;
use std::{fs, path::Path, process::Stdio};

/// A folder with what was recorded on an NVIDIA H200: a CUDA graph of PyTorch.
fn recording(home: &Home) {
    let fixture =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../gpu/tests/fixtures/h200-graph.mmgpu");
    fs::create_dir(home.path("recording")).unwrap();
    fs::copy(fixture, home.path("recording/509-1.mmgpu")).unwrap();
}

#[test]
fn the_programs_output_and_exit_code_are_its_own() {
    let home = Home::new();
    let script = "echo to the pipe; echo to the terminal >&2; exit 5";
    let told = home.run(&["gpu", "--", "sh", "-c", script]);
    assert_eq!((told.status, told.out.as_str()), (Some(5), "to the pipe\n"));
    for part in ["to the terminal", "exit code 5", "nothing was recorded"] {
        assert!(told.err.contains(part), "`{part}` is not in {}", told.err);
    }
    let killed = home.run(&["gpu", "--quiet", "--", "sh", "-c", "kill -9 $$"]);
    assert_eq!(killed.status, Some(137));
}

#[test]
fn with_json_on_standard_output_the_program_prints_to_standard_error() {
    let home = Home::new();
    let told = home.run(&["gpu", "--json", "--", "echo", "hello"]);
    assert_eq!(told.status, Some(0));
    assert!(told.err.contains("hello"));
    keeps_the_schema(&told.out);
    let document: Value = serde_json::from_str(&told.out).unwrap();
    assert_eq!((&document["valid"], &document["exit_code"]), (&false.into(), &0.into()));
}

#[test]
fn a_program_that_reads_standard_input_gets_it() {
    let home = Home::new();
    fs::write(home.path("input"), "from a file\n").unwrap();
    let mut command = home.command(&["gpu", "--quiet", "--", "cat"]);
    command.stdin(Stdio::from(fs::File::open(home.path("input")).unwrap()));
    assert_eq!(told(command.output().unwrap()).out, "from a file\n");
}

#[test]
fn a_recording_of_a_real_gpu_is_told_in_every_format() {
    let home = Home::new();
    recording(&home);
    let arguments = ["gpu", "--from", "recording"];
    let text = home.fine(&arguments).out;
    for part in ["cuda:0", "compute", "idle", "CUDA graphs", "100 % followed", "layer3", "valid:"] {
        assert!(text.contains(part), "`{part}` is not in\n{text}");
    }
    let json = home.fine(&[&arguments[..], &["--json"]].concat()).out;
    keeps_the_schema(&json);
    let document: Value = serde_json::from_str(&json).unwrap();
    let launches = &document["processes"][0]["devices"][0]["launches"];
    assert_eq!(
        (&launches["graph_kernels"], &launches["graph_named"]),
        (&1800.into(), &1800.into())
    );
    let files = [
        "--csv=gpu.csv",
        "--html=gpu.html",
        "--markdown=gpu.md",
        "--trace=gpu.trace.json",
        "--flamegraph=gpu.svg",
    ];
    home.fine(&[&arguments[..], &files].concat());
    let flames = fs::read_to_string(home.path("gpu.svg")).unwrap();
    assert!(flames.contains("layer3"), "{flames}");
    assert!(fs::read_to_string(home.path("gpu.html")).unwrap().contains("<svg"), "no picture");
    home.fine(&[&arguments[..], &["--trace=gpu.pftrace"]].concat());
    let packets = fs::read(home.path("gpu.pftrace")).unwrap();
    // A packet, its length, and the flag that names begin anew.
    assert_eq!(packets[0], 0x0a, "{:?}", &packets[..8]);
    for file in ["gpu.csv", "gpu.html", "gpu.md"] {
        assert!(fs::read_to_string(home.path(file)).unwrap().contains("splitKreduce"), "{file}");
    }
    let trace = fs::read_to_string(home.path("gpu.trace.json")).unwrap();
    let trace: Value = serde_json::from_str(&trace).unwrap();
    let of = |category: &str| {
        let events = trace["traceEvents"].as_array().unwrap().iter();
        events.filter(|event| event["cat"] == category).count()
    };
    assert_eq!((of("kernel"), of("gpu_memcpy") + of("gpu_memset")), (1856, 13));
}

#[test]
fn files_of_other_profilers_are_told_in_the_same_way() {
    let home = Home::new();
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../gpu/tests/fixtures");
    for name in ["kineto.json", "rocprof.json"] {
        let file = fixtures.join(name);
        let told = home.fine(&["gpu", "--from", file.to_str().unwrap(), "--json"]);
        keeps_the_schema(&told.out);
        let document: Value = serde_json::from_str(&told.out).unwrap();
        let device = &document["processes"][0]["devices"][0];
        assert_eq!(device["kernels"][0]["name"], "gemm", "{name}");
        assert_eq!(device["copy_kinds"][0]["bytes"], 4096, "{name}");
    }
    fs::write(home.path("nothing.json"), r#"{"traceEvents": []}"#).unwrap();
    home.refused(&["gpu", "--from", "nothing.json"], 2, &["no work of a GPU", "hint:"]);
    fs::write(home.path("text"), "words").unwrap();
    home.refused(&["gpu", "--from", "text"], 2, &["neither JSON nor SQLite", "nsys export"]);
    recording(&home);
    home.refused(&["gpu", "--from", "recording/509-1.mmgpu"], 2, &["give its folder"]);
}

#[test]
fn a_name_that_promises_another_format_is_refused() {
    let home = Home::new();
    recording(&home);
    let from = ["gpu", "--from", "recording"];
    for (file, hint) in [
        ("--flamegraph=f.png", "--flamegraph FILE.svg"),
        ("--trace=x.txt", "--trace FILE.pftrace"),
        ("--trace=x.json.gz", "--trace FILE.json"),
    ] {
        home.refused(&[&from[..], &[file]].concat(), 2, &["unknown ending", hint]);
    }
    let refused = ["profile", "small-transformer", "--device", "cpu", "--gpu"];
    home.refused(&refused, 2, &["not `--device cpu`", "--device cuda"]);
}

#[test]
fn a_program_without_work_on_a_gpu_gets_no_advice() {
    let home = Home::new();
    home.refused(&["advise", "--", "true"], 4, &["no work of a GPU", "hint:"]);
    home.refused(&["advise", "--", "false"], 4, &["the program failed"]);
    home.refused(&["advise", "--", "/no/such/program"], 2, &["/no/such/program"]);
    home.refused(&["advise", "small-transformer", "--", "true"], 2, &["cannot be used with"]);
}

#[test]
fn what_cannot_be_done_is_said_with_a_way_on() {
    let home = Home::new();
    home.refused(&["gpu"], 2, &["COMMAND"]);
    home.refused(&["gpu", "--", "/no/such/program"], 2, &["/no/such/program", "hint:"]);
    home.refused(&["gpu", "--from", "nowhere"], 2, &["nowhere"]);
    fs::create_dir(home.path("empty")).unwrap();
    home.refused(&["gpu", "--from", "empty"], 2, &["no recording", "--keep"]);
    recording(&home);
    home.refused(&["gpu", "--keep", "recording", "--", "true"], 2, &["has a recording already"]);
    let full = home.run(&["gpu", "--json=/dev/full", "--", "true"]);
    assert_eq!(full.status, Some(3), "{}", full.err);
    assert!(full.err.contains("could not write `/dev/full`"), "{}", full.err);
    // Half of it is told, and that it is not all.
    let file = home.path("recording/509-1.mmgpu");
    let bytes = fs::read(&file).unwrap();
    fs::write(&file, &bytes[..bytes.len() / 2]).unwrap();
    let told = home.run(&["gpu", "--from", "recording"]);
    assert!(told.out.contains("cut off or damaged"), "{}", told.out);
    fs::write(&file, "no recording at all").unwrap();
    let told = home.run(&["gpu", "--from", "recording"]);
    assert_eq!(told.status, Some(4));
    assert!(told.out.contains("is not a recording"), "{}{}", told.out, told.err);
}

#[test]
fn beside_another_tool_the_program_runs_without_a_recording() {
    let home = Home::new();
    let mut command = home.command(&["gpu", "--", "sh", "-c", "echo $CUDA_INJECTION64_PATH"]);
    command.env("CUDA_INJECTION64_PATH", "/opt/other/tool.so");
    let told = told(command.output().unwrap());
    assert_eq!((told.status, told.out.as_str()), (Some(0), "/opt/other/tool.so\n"));
    assert!(told.err.contains("another tool is attached"), "{}", told.err);
}
