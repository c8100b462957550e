//! Rows of joined layers, those inside a repeated layer put together with their sum.

use types::{LayerCell, LayerJoin, LayerRow, Ratio, Seconds, pooled_list};

/// A module, or all modules of one kind of layer together.
#[derive(Debug, Clone, PartialEq)]
pub struct LayerGroup<'a> {
    /// The path of the module, or that of the list up to the star.
    pub path: &'a str,
    /// How many layers were put together; 1 for a single module.
    pub modules: u64,
    /// The sums of all rows, side by side.
    pub cells: Vec<LayerCell>,
    /// The rows inside a repeated layer; empty for a single module.
    pub inside: Vec<&'a LayerRow>,
}

/// Rows as they come; those inside a repeated layer are one group.
#[must_use]
pub fn group_rows(join: &LayerJoin) -> Vec<LayerGroup<'_>> {
    let mut groups: Vec<LayerGroup<'_>> = Vec::new();
    for row in &join.rows {
        let Some(list) = pooled_list(&row.path) else {
            let cells = row.cells.clone();
            groups.push(LayerGroup { path: &row.path, modules: 1, cells, inside: Vec::new() });
            continue;
        };
        if groups.iter().any(|group| !group.inside.is_empty() && group.path == list) {
            continue;
        }
        let inside: Vec<&LayerRow> =
            join.rows.iter().filter(|row| pooled_list(&row.path) == Some(list)).collect();
        let modules = inside.iter().map(|row| row.modules).max().unwrap_or(1);
        groups.push(LayerGroup { path: list, modules, cells: sums(&inside), inside });
    }
    groups
}

fn sums(rows: &[&LayerRow]) -> Vec<LayerCell> {
    let sides = rows.iter().map(|row| row.cells.len()).max().unwrap_or(0);
    let sum = |side: usize| {
        let cells = || rows.iter().filter_map(move |row| row.cells.get(side));
        LayerCell {
            time: Seconds(cells().map(|cell| cell.time.0).sum()),
            share: Ratio(cells().map(|cell| cell.share.0).sum()),
        }
    };
    (0..sides).map(sum).collect()
}
