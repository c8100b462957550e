//! Every allocation and free of a run as CSV: one row an event, in the order they happened.

use crate::csv::{text, write_rows};
use types::Allocations;

const COLUMNS: [&str; 7] =
    ["time_ns", "inference", "block", "bytes", "layer", "operator", "thread"];

/// The events as CSV; columns that do not fit together give the rows that do.
#[must_use]
pub fn allocations_csv(all: &Allocations) -> String {
    let row = |at: usize| {
        let name = all.names.get(*all.layers.get(at)? as usize)?;
        Some(vec![
            all.times.get(at)?.to_string(),
            // The inference during which it happened, counted from 1.
            (all.ends.partition_point(|end| *end <= at as u64) + 1).to_string(),
            all.blocks.get(at)?.to_string(),
            all.sizes.get(at)?.to_string(),
            text(&name.name).unwrap_or_default(),
            text(&name.kind).unwrap_or_default(),
            all.threads.get(at)?.to_string(),
        ])
    };
    let mut out = Vec::new();
    write_rows(&COLUMNS, (0..all.len()).map_while(row), &mut out)
        .expect("a vector takes every write");
    String::from_utf8(out).expect("every cell is a string")
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::LayerName;

    #[test]
    fn an_event_is_a_row_with_its_layer_and_its_inference() {
        let all = Allocations {
            times: vec![10, 20, 30],
            blocks: vec![0, 0, 1],
            sizes: vec![64, -64, 32],
            layers: vec![1, 0, 1],
            threads: vec![1, 1, 2],
            names: vec![
                LayerName::default(),
                LayerName { name: "=encoder".into(), kind: "MatMul".into() },
            ],
            ends: vec![2, 3],
            dropped: 0,
        };
        let expected = "time_ns,inference,block,bytes,layer,operator,thread\r\n\
                        10,1,0,64,'=encoder,MatMul,1\r\n20,1,0,-64,,,1\r\n30,2,1,32,'=encoder,MatMul,2\r\n";
        assert_eq!(allocations_csv(&all), expected);
    }
}
