//! `modelmeter models`: the models that are known by name.

use crate::{
    Exit, Failure, Sinks,
    arguments::{Global, Models},
    command::table_width,
};
use modelmeter::PRESETS;
use models::PresetSummary;
use report::{Block, Column, DataTable, Grid, Note, ResultDocument};
use schemars::JsonSchema;
use serde::Serialize;
use types::{Category, Flops, InputRole, Ratio};

/// The name and version of the document.
pub(crate) const MODELS_SCHEMA: &str = "modelmeter.models/1";

pub(crate) fn run(arguments: &Models, global: &Global) -> Result<Exit, Failure> {
    arguments.result.check([])?;
    if let Some(category) = &arguments.category
        && !PRESETS.iter().any(|preset| preset.category.name() == category)
    {
        let mut known: Vec<&str> = PRESETS.iter().map(|preset| preset.category.name()).collect();
        known.dedup();
        return Err(Failure::new(Exit::Wrong, format!("no model has the category `{category}`"))
            .hint(format!("categories are {}", known.join(", "))));
    }
    let wanted = PRESETS.iter().filter(|preset| {
        arguments.category.as_deref().is_none_or(|category| preset.category.name() == category)
    });
    let summaries = wanted.map(|preset| preset.summary()).collect::<Result<Vec<_>, _>>()?;
    let mut sinks = Sinks::new(global);
    sinks.list(&document(&summaries), &arguments.result, table_width());
    Ok(sinks.finish(Exit::Fine))
}

fn document(summaries: &[PresetSummary]) -> ResultDocument {
    let mut grid = Grid::of([
        Column::left("model").shrinks(),
        Column::left("category").leaves(2),
        Column::right("parameters"),
        Column::right("work per sample").leaves(1),
        Column::left("at").leaves(3),
        Column::left("also").leaves(4),
    ]);
    for summary in summaries {
        grid.row([
            summary.preset.name,
            summary.preset.category.name(),
            &report::count(summary.parameters),
            &report::flops(summary.work.flops.0),
            &size_of(summary),
            &summary.preset.aliases.join(", "),
        ]);
    }
    let also = "also: an .onnx file, a .gguf file, a Hugging Face folder or hub name, a .toml description of an encoder or network";
    ResultDocument {
        title: vec!["Models known by name".into()],
        is_list: true,
        blocks: vec![Block::table("models", grid), Block::Notes(vec![Note::new(also)])],
        json: report::to_json(&ModelsDocument {
            schema: MODELS_SCHEMA,
            models: summaries.iter().map(ModelDocument::from).collect(),
        }),
        data: Some(data(summaries)),
        ..ResultDocument::default()
    }
}

fn data(summaries: &[PresetSummary]) -> DataTable {
    let columns =
        ["name", "aliases", "category", "parameters", "flops_per_sample", "sequence_length"];
    let row = |summary: &PresetSummary| {
        vec![
            Some(summary.preset.name.to_owned()),
            Some(summary.preset.aliases.join(" ")),
            Some(summary.preset.category.name().to_owned()),
            Some(summary.parameters.to_string()),
            Some(summary.work.flops.0.to_string()),
            summary.length.map(|length| length.to_string()),
        ]
    };
    DataTable::new(columns, summaries.iter().map(row))
}

/// What one sample is: so many tokens, an image, or plain numbers.
fn size_of(summary: &PresetSummary) -> String {
    let tokens = summary.length.map(|length| format!("{length} tokens"));
    let others = summary.inputs.iter().filter_map(|(role, dims)| match (role, dims.as_slice()) {
        (InputRole::Image, [.., height, width]) => Some(format!("{height} × {width}")),
        (InputRole::Audio, [_, samples]) => Some(format!("{samples} samples")),
        (InputRole::Audio, [_, bands, frames]) => Some(format!("{bands} × {frames} frames")),
        _ => None,
    });
    tokens.into_iter().chain(others).collect::<Vec<_>>().join(" + ")
}

/// The models known by name.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ModelsDocument<'a> {
    #[schemars(extend("const" = MODELS_SCHEMA))]
    schema: &'static str,
    models: Vec<ModelDocument<'a>>,
}

/// A model, and the work of one inference with `batch_size` samples of `sequence_length` tokens.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Model")]
struct ModelDocument<'a> {
    name: &'a str,
    /// Other names for it.
    aliases: &'a [&'a str],
    category: Category,
    /// How many.
    parameters: u64,
    flops: Flops,
    /// Share of the operators that were counted; below 1 `flops` is a lower bound.
    #[schemars(range(min = 0, max = 1))]
    coverage: Ratio,
    #[schemars(range(min = 1))]
    batch_size: u64,
    /// Null for models without a length.
    sequence_length: Option<usize>,
}

impl<'a> From<&'a PresetSummary> for ModelDocument<'a> {
    fn from(summary: &'a PresetSummary) -> ModelDocument<'a> {
        ModelDocument {
            name: summary.preset.name,
            aliases: summary.preset.aliases,
            category: summary.preset.category,
            parameters: summary.parameters,
            flops: summary.work.flops,
            coverage: summary.work.coverage,
            batch_size: 1,
            sequence_length: summary.length,
        }
    }
}
