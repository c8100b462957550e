//! Values in the form the backward graph takes them: the same memory under other dims, or a matrix turned.

use super::{
    threads::share,
    turn::{LINE, turn},
};
use crate::{ElementsView, EngineError, EngineErrorKind, OutputView, PreparedValue};

/// Turned matrices, whose memory is kept from step to step.
#[derive(Default)]
pub(super) struct Prepared {
    /// One for each prepared value, empty for those that are not turned.
    turned: Vec<Room>,
}

impl Prepared {
    /// All values as they are wanted; `find` gives a value by its name.
    pub(super) fn make<'a>(
        &'a mut self,
        wanted: &'a [PreparedValue],
        find: impl Fn(&str) -> Result<OutputView<'a>, EngineError>,
        threads: usize,
    ) -> Result<Vec<OutputView<'a>>, EngineError> {
        let sources = wanted.iter().map(|value| elements(value, &find(&value.of)?));
        let sources = sources.collect::<Result<Vec<_>, _>>()?;
        self.turned.resize_with(wanted.len(), Room::default);
        let mut matrices = Vec::new();
        for ((value, from), room) in wanted.iter().zip(&sources).zip(&mut self.turned) {
            if let (true, [_, columns]) = (value.turned, value.dims.as_slice()) {
                matrices.push((*from, room.of(from.len()), *columns));
            }
        }
        share(matrices, threads, |(from, to, columns)| turn(from, to, columns));
        let made = wanted.iter().zip(sources).zip(&self.turned);
        Ok(made
            .map(|((value, source), room)| OutputView {
                name: &value.name,
                dims: value.dims.clone(),
                elements: ElementsView::F32(if value.turned { room.values() } else { source }),
            })
            .collect())
    }

    /// Bytes that turned matrices take.
    pub(super) fn bytes(&self) -> u64 {
        self.turned.iter().map(|room| 4 * room.length as u64).sum()
    }
}

/// Memory that begins where a line of the cache does.
#[derive(Default)]
struct Room {
    memory: Vec<f32>,
    begin: usize,
    length: usize,
}

impl Room {
    fn of(&mut self, length: usize) -> &mut [f32] {
        if self.length != length {
            self.memory = vec![0.0; length + LINE];
            self.begin = self.memory.as_ptr().align_offset(4 * LINE).min(LINE);
            self.length = length;
        }
        &mut self.memory[self.begin..self.begin + length]
    }

    fn values(&self) -> &[f32] {
        &self.memory[self.begin..self.begin + self.length]
    }
}

/// The floats that a value is made of.
fn elements<'a>(value: &PreparedValue, of: &OutputView<'a>) -> Result<&'a [f32], EngineError> {
    let count = value.dims.iter().product::<usize>();
    let is_matrix = value.dims.len() == 2;
    match of.elements {
        ElementsView::F32(found) if found.len() == count && (is_matrix || !value.turned) => {
            Ok(found)
        }
        _ => {
            let (of, dims) = (of.name, &value.dims);
            let message = format!("the backward graph takes `{of}` with the dims {dims:?}");
            Err(EngineError::new(EngineErrorKind::BadModel, message))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prepared(dims: &[usize], turned: bool) -> PreparedValue {
        PreparedValue { name: "b".into(), of: "a".into(), dims: dims.to_vec(), turned }
    }

    #[test]
    fn every_matrix_is_turned_whatever_its_sides() {
        for (rows, columns) in [(1, 1), (16, 16), (17, 5), (3, 200), (130, 67), (64, 48), (160, 80)]
        {
            let values: Vec<f32> = (0..rows * columns).map(|at| at as f32).collect();
            // As it was: `columns` rows of `rows`.
            let find = |_: &str| {
                let elements = ElementsView::F32(&values);
                Ok(OutputView { name: "a", dims: vec![columns, rows], elements })
            };
            let wanted = [prepared(&[rows, columns], true), prepared(&[columns * rows], false)];
            let mut memory = Prepared::default();
            let views = memory.make(&wanted, find, 3).unwrap();
            let ElementsView::F32(turned) = views[0].elements else { panic!("floats") };
            for row in 0..rows {
                for column in 0..columns {
                    assert_eq!(turned[row * columns + column], values[column * rows + row]);
                }
            }
            assert_eq!(views[0].dims, [rows, columns]);
            assert_eq!(views[1].elements, ElementsView::F32(&values));
            assert_eq!(memory.bytes(), 4 * (rows * columns) as u64);
        }
    }

    #[test]
    fn a_value_that_does_not_fit_is_named() {
        let values = [1.0f32; 6];
        let find = |_: &str| {
            Ok(OutputView { name: "a", dims: vec![6], elements: ElementsView::F32(&values) })
        };
        let wanted = [prepared(&[2, 2], false)];
        let error = Prepared::default().make(&wanted, find, 1).unwrap_err();
        assert!(error.to_string().contains("takes `a` with the dims [2, 2]"), "{error}");
    }
}
