//! Which format a file has, by its content.

use crate::{Error, Format};

/// Formats show themselves in their first bytes; a trace of gigabytes is not read to the end for that.
const BEGINNING: usize = 64 * 1024;

/// What a file's beginning says.
pub(crate) enum Seen {
    Known(Format),
    /// A report of ours, which is for people and other programs; it leaves things out.
    Report,
    Unknown(String),
}

impl Format {
    /// The format of a file with this content.
    ///
    /// # Errors
    /// Where nothing in it looks like a format that we know.
    pub fn detect(file: &str, bytes: &[u8]) -> Result<Format, Error> {
        match look(bytes) {
            Seen::Known(format) => Ok(format),
            Seen::Report => Err(Error::Report {
                file: file.to_owned(),
                why: "it does not contain everything that a run needs; export with `--format jsonl` instead".into(),
            }),
            Seen::Unknown(why) => Err(Error::Unknown { file: file.to_owned(), why }),
        }
    }
}

fn look(bytes: &[u8]) -> Seen {
    if bytes.starts_with(b"PAR1") {
        return Seen::Known(Format::Parquet);
    }
    let beginning = &bytes[..bytes.len().min(BEGINNING)];
    if beginning.contains(&0) {
        return Seen::Unknown("it is not text".into());
    }
    let text = String::from_utf8_lossy(beginning);
    let text = text.trim_start_matches('\u{feff}').trim_start();
    match text.chars().next() {
        None => Seen::Unknown("it is empty".into()),
        Some('{' | '[') => json(text),
        Some(_) => plain(text),
    }
}

fn json(text: &str) -> Seen {
    let has = |word: &str| text.contains(&format!("\"{word}\""));
    if has("schema") && text.contains("\"modelmeter.") {
        let whole = text.contains("\"modelmeter.whole-run/");
        return if whole { Seen::Known(Format::JsonLines) } else { Seen::Report };
    }
    if has("traceEvents") {
        return Seen::Unknown("it is a trace of another profiler than ONNX Runtime's".into());
    }
    let marks = [
        (has("n_prompt") && has("n_gen"), Format::LlamaBench),
        (has("ph") && (has("Session") || text.contains("_kernel_time")), Format::OnnxRuntime),
        (has("latencyMs") || has("startComputeMs"), Format::TrtexecTimes),
        (has("averageMs") || (has("timeMs") && has("percentage")), Format::TrtexecProfile),
        (has("latency") && (has("throughput") || has("stdev")), Format::OptimumBenchmark),
        (has("report") && has("config") && has("scenario"), Format::OptimumBenchmark),
    ];
    match marks.into_iter().find(|(holds, _)| *holds) {
        Some((_, format)) => Seen::Known(format),
        None => Seen::Unknown("it is JSON of an unknown tool".into()),
    }
}

fn plain(text: &str) -> Seen {
    if text.contains("MLPerf Results Summary") {
        return Seen::Known(Format::Mlperf);
    }
    if text.contains("llama_bench")
        && (text.contains("INSERT INTO") || text.contains("CREATE TABLE"))
    {
        return Seen::Known(Format::LlamaBenchSql);
    }
    let header = text.lines().next().unwrap_or_default();
    let columns: Vec<&str> = header.split(',').map(|name| name.trim().trim_matches('"')).collect();
    let has = |name: &str| columns.contains(&name);
    if has("run_id") && has("model") {
        Seen::Known(Format::Csv)
    } else if has("build_commit") && has("avg_ns") {
        Seen::Known(Format::LlamaBench)
    } else if has("model") && columns.iter().any(|name| name.ends_with("samples_per_sec")) {
        Seen::Known(Format::Timm)
    } else if has("model") && has("top1") {
        let why =
            "it is a table of accuracies without a time or a rate; use timm's `benchmark-*.csv`";
        Seen::Unknown(why.into())
    } else {
        let shown: String = header.chars().take(40).filter(|c| !c.is_control()).collect();
        Seen::Unknown(format!("it begins with `{shown}`"))
    }
}
