//! The same engines at several tests of generating, one comparison below the other.

use super::{csv::comparisons_data, document::comparisons_json, result::comparison_document};
use crate::result::{Block, ResultDocument};
use types::ComparisonReport;

/// A comparison for each test of generating, as a result.
#[must_use]
pub fn generation_comparisons_document(tests: &[ComparisonReport]) -> ResultDocument {
    let Some(first) = tests.first() else { return ResultDocument::default() };
    let mut blocks = Vec::new();
    for test in tests {
        let generation = test.sides.iter().find_map(|side| side.info.generation);
        let name = generation.map_or_else(String::new, |generation| {
            format!("{} ({})", generation.test.name(), generation.name())
        });
        blocks.push(Block::Heading(name));
        blocks.extend(comparison_document(test).blocks);
    }
    ResultDocument {
        blocks,
        json: comparisons_json(tests),
        data: Some(comparisons_data(tests)),
        ..comparison_document(first)
    }
}
