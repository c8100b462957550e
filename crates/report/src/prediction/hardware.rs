//! `predict --catalogue`: processors and GPUs with stated peaks.

use crate::{
    clean::clean,
    document::to_json,
    result::{Block, DataTable, ResultDocument},
    sheet::Grid,
    table::Column,
};
use number::fixed;
use predict::{Catalogue, Hardware};
use schemars::JsonSchema;
use serde::Serialize;

/// The name and version of the document.
pub const HARDWARE_SCHEMA: &str = "modelmeter.hardware/1";

const COLUMNS: [&str; 7] =
    ["name", "kind", "fp32_tflops", "fp16_tflops", "gb_per_second", "memory_gb", "source"];

/// Hardware with stated peaks.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct HardwareListDocument<'a> {
    #[schemars(extend("const" = HARDWARE_SCHEMA))]
    schema: &'static str,
    hardware: Vec<HardwareDocument<'a>>,
}

/// A processor or GPU as its manufacturer states it.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Hardware")]
struct HardwareDocument<'a> {
    name: &'a str,
    /// `GPU` or `processor`.
    kind: &'static str,
    fp32_flops_per_second: f64,
    /// In 16 bits with sums in 32, dense.
    fp16_flops_per_second: f64,
    bytes_per_second: f64,
    memory_bytes: Option<f64>,
    /// Of the last cache.
    cache_bytes: Option<f64>,
    /// Where the numbers are from.
    source: &'a str,
}

/// Processors and GPUs with stated peaks, as a list.
#[must_use]
pub fn hardware_document(catalogue: &Catalogue) -> ResultDocument {
    let mut grid = Grid::of([
        Column::left("name").wraps(),
        Column::left("kind").leaves(3),
        Column::right("fp32 TFLOP/s"),
        Column::right("fp16 TFLOP/s"),
        Column::right("GB/s"),
        Column::right("GB").leaves(2),
        Column::left("source").shrinks().leaves(1),
    ]);
    let kind = |one: &Hardware| if one.is_gpu { "GPU" } else { "processor" };
    let mut rows = Vec::new();
    for one in catalogue.entries() {
        let row = vec![
            clean(&one.name),
            kind(one).to_owned(),
            fixed(one.single / 1e12, 1),
            fixed(one.half / 1e12, 1),
            fixed(one.bandwidth / 1e9, 0),
            one.memory.map(|memory| fixed(memory / 1e9, 0)).unwrap_or_default(),
            clean(&one.source),
        ];
        let plain = |number: f64| Some(number.to_string());
        rows.push(vec![
            Some(one.name.clone()),
            Some(kind(one).to_owned()),
            plain(one.single / 1e12),
            plain(one.half / 1e12),
            plain(one.bandwidth / 1e9),
            one.memory.and_then(|memory| plain(memory / 1e9)),
            Some(one.source.clone()),
        ]);
        grid.row(row);
    }
    let all = catalogue.entries().iter().map(|one| HardwareDocument {
        name: &one.name,
        kind: kind(one),
        fp32_flops_per_second: one.single,
        fp16_flops_per_second: one.half,
        bytes_per_second: one.bandwidth,
        memory_bytes: one.memory,
        cache_bytes: one.cache,
        source: &one.source,
    });
    let document = HardwareListDocument { schema: HARDWARE_SCHEMA, hardware: all.collect() };
    ResultDocument {
        title: vec!["Hardware with stated peaks".into()],
        is_list: true,
        blocks: vec![Block::table("hardware", grid)],
        json: to_json(&document),
        data: Some(DataTable::new(COLUMNS, rows)),
        ..ResultDocument::default()
    }
}
