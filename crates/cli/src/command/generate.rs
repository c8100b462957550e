//! `modelmeter generate`: how fast a language model reads a prompt and writes, token by token.

use crate::{
    Exit, Failure, Sinks,
    arguments::{
        Generate, Global, ResultOutput, Workload, all_counts, is_stdout, llama_bench_file,
    },
    command::{
        folders,
        measurement::{measurement, with},
        profile::named_layers,
        watched_session,
    },
    output,
    places::places,
    progress::Progress,
};
use modelmeter::{Folders, Generated, GenerationTests, Inside, growth_block};
use report::{GenerationRefused, LayerView, View};
use std::path::PathBuf;

pub(crate) fn run(arguments: &Generate, global: &Global) -> Result<Exit, Failure> {
    let folders = folders(global)?;
    // Everything that can be found wrong is found before minutes are spent.
    let (asked, rows) = asked(arguments)?;
    let tests = tests(arguments, global, &folders)?;
    let skip = arguments.store.skip.no_store;
    let mut session = watched_session(&folders, skip, global, "the measurement")?;
    let mut progress = Progress::new(global.quiet);
    let outcome = tests.run(&mut session, &mut |event| progress.hear(&event));
    progress.clear();
    let mut sinks = Sinks::new(global);
    sinks.hear(&mut session);
    let Generated { runs, refused } = outcome?;
    let refused: Vec<GenerationRefused> = refused
        .into_iter()
        .map(|one| GenerationRefused {
            test: match one.batch {
                1 => one.test,
                batch => format!("{} × {batch}", one.test),
            },
            engine: one.engine,
            why: one.why,
        })
        .collect();
    let exit = match runs.iter().all(|run| run.verdict.valid) {
        _ if !refused.is_empty() => Exit::Cannot,
        true => Exit::Fine,
        false => Exit::Untold,
    };
    let mut document = report::generation_document(&runs, &refused, &view(arguments));
    let stored = runs.iter().filter_map(|run| session.stored_as(&run.id)).collect::<Vec<_>>();
    if let (Some(first), Some(last)) = (stored.first(), stored.last()) {
        document.footer = vec![match stored.len() {
            1 => format!("stored as run {first}"),
            count => format!("stored as {count} runs, {first} to {last}"),
        }];
    }
    if asked.path("html").is_some() {
        document.blocks.push(growth_block(&runs));
    }
    if let Some(rows) = rows {
        let text = || format!("{:#}\n", report::llama_bench_rows(&runs));
        if is_stdout(&rows) {
            sinks.leave_to_data();
            output::data(&text())?;
        } else {
            sinks.file(&rows, text);
        }
    }
    sinks.result(&document, &asked, exit);
    Ok(sinks.finish(exit))
}

/// What is shown of the inside.
fn view(arguments: &Generate) -> View {
    let layers = named_layers(arguments.layers.as_deref().unwrap_or_default());
    View { layers: LayerView { only: layers }, ..View::default() }
}

/// The formats with the file of `--output`, and the file of llama-bench's rows.
fn asked(arguments: &Generate) -> Result<(ResultOutput, Option<PathBuf>), Failure> {
    let file = arguments.file.output.as_deref();
    let rows = llama_bench_file(file);
    let asked = arguments.result.with_file(file.filter(|_| rows.is_none()), &[])?;
    asked.check(rows.as_ref().filter(|path| !is_stdout(path)))?;
    Ok((asked, rows))
}

fn tests(
    arguments: &Generate,
    global: &Global,
    folders: &Folders,
) -> Result<GenerationTests, Failure> {
    let model = arguments.model.name().unwrap_or_default();
    let Generate { origin, device, threads, tuning, limit, sampling, timeout, store, .. } =
        arguments;
    let mut workload = Workload::default();
    workload.inputs.seed = arguments.seed.clone();
    workload.text.extend(arguments.text.clone());
    let base = measurement(model, &workload, origin, places(global))?.folders(folders.clone());
    let groups: [&dyn super::measurement::Settings; 7] =
        [device, threads, tuning, limit, sampling, timeout, &store.tags];
    let prompts = all_counts(&arguments.prompt);
    let tokens = all_counts(&arguments.tokens);
    if prompts.iter().chain(&tokens).all(|count| *count == 0) {
        return Err(Failure::new(Exit::Wrong, "no prompt and no token to generate")
            .hint("ask for at least one: `-p 512 -n 128`"));
    }
    let batches = all_counts(&arguments.batch_sizes);
    if batches.contains(&0) {
        return Err(Failure::new(Exit::Wrong, "a batch has at least one text"));
    }
    let engines = match arguments.engines.engines.as_slice() {
        [only] if only == "auto" => Vec::new(),
        named => named.to_vec(),
    };
    let inside = Inside {
        layers: arguments.layers.is_some(),
        names: named_layers(arguments.layers.as_deref().unwrap_or_default()),
        memory: arguments.memory,
        timeline: false,
        gpu: false,
    };
    Ok(GenerationTests::new(with(base, &groups).inside(inside))
        .engines(engines)
        .precisions(arguments.precisions.precisions.iter().copied())
        .prompts(prompts)
        .tokens(tokens)
        .depths(all_counts(&arguments.depth))
        .batches(batches)
        .sampling(arguments.sampling_of_tokens()))
}
