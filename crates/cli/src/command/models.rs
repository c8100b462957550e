//! `modelmeter models`: the models that are known by name.

use crate::{
    Exit, Failure,
    arguments::{Global, Models},
    command::{devices::PIPE_WIDTH, style, table_width},
    output,
};
use modelmeter::{
    PRESETS,
    models::PresetSummary,
    report::{self, Column, Style, Table},
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
    let text = if arguments.json {
        as_json(&summaries)
    } else {
        as_text(&summaries, &style(global), table_width())
    };
    output::data(&text)?;
    Ok(Exit::Fine)
}

fn as_text(summaries: &[PresetSummary], style: &Style, width: Option<usize>) -> String {
    let mut table = Table::new([
        Column::left("model").shrinks(),
        Column::left("category").leaves(2),
        Column::right("parameters"),
        Column::right("work a sample").leaves(1),
        Column::left("at").leaves(3),
        Column::left("also").leaves(4),
    ])
    .painted(style);
    for summary in summaries {
        table.push([
            summary.preset.name,
            summary.preset.category.name(),
            &report::count(summary.parameters),
            &report::flops(summary.work.flops.0),
            &size_of(summary),
            &summary.preset.aliases.join(", "),
        ]);
    }
    let also = "Also: an .onnx file, a Hugging Face folder or hub name, a .toml description of an \
                encoder or network";
    let also = report::wrap(also, width.unwrap_or(PIPE_WIDTH));
    format!("{}\n{}\n", table.render(width), also.join("\n"))
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

fn as_json(summaries: &[PresetSummary]) -> String {
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
    format!("{:#}\n", json!({ "schema": "modelmeter.models/1", "models": models }))
}
