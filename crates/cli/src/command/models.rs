//! `modelmeter models`: the models that are known by name.

use crate::{
    Exit, Failure,
    arguments::{Global, Models},
    command::{style, table_width},
    output,
};
use modelmeter::{
    PRESETS,
    models::PresetSummary,
    report::{self, Block, Column, DataTable, Grid, Note, ResultDocument},
    types::InputRole,
};
use serde_json::{Value, json};

pub(crate) fn run(arguments: &Models, global: &Global) -> Result<Exit, Failure> {
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
    let document = document(&summaries);
    output::data(&match arguments.json {
        true => document.json_text(),
        false => document.terminal(&style(global), table_width()),
    })?;
    Ok(Exit::Fine)
}

fn document(summaries: &[PresetSummary]) -> ResultDocument {
    let mut grid = Grid::of([
        Column::left("model").shrinks(),
        Column::left("category").leaves(2),
        Column::right("parameters"),
        Column::right("work a sample").leaves(1),
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
    let also = "also: an .onnx file, a Hugging Face folder or hub name, a .toml description of an encoder or network";
    ResultDocument {
        title: vec!["Models known by name".into()],
        is_list: true,
        blocks: vec![
            Block::Table { name: "models".into(), grid },
            Block::Notes(vec![Note::new(also)]),
        ],
        json: json(summaries),
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

fn json(summaries: &[PresetSummary]) -> Value {
    let models: Vec<Value> = summaries
        .iter()
        .map(|summary| {
            json!({
                "name": summary.preset.name,
                "aliases": summary.preset.aliases,
                "category": summary.preset.category,
                "parameters": summary.parameters,
                "flops": summary.work.flops,
                "coverage": summary.work.coverage,
                "batch_size": 1,
                "sequence_length": summary.length,
            })
        })
        .collect();
    json!({ "schema": "modelmeter.models/1", "models": models })
}
