//! Which cells nobody beats in latency, throughput and memory at once.

use types::{MissingCode, Mode, PooledCell, Reading};

/// What a cell is judged by: less is better in each.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Point([f64; 3]);

impl Point {
    /// Latency, throughput turned around, memory; `None` if one of them is not known.
    pub(super) fn of(cell: &PooledCell) -> Option<Point> {
        let throughput = cell.throughput.value?.value;
        Some(Point([cell.latency.value, -throughput, cell.memory.value?.0 as f64]))
    }

    /// Whether it is at least as good in everything, and better in something.
    pub(super) fn dominates(&self, other: &Point) -> bool {
        let pairs = || self.0.iter().zip(&other.0);
        pairs().all(|(own, other)| own <= other) && pairs().any(|(own, other)| own < other)
    }
}

/// What cells must share to be compared: the same work, measured by the same hand.
type Work<'a> = (&'a str, bool, Mode, Option<u64>, bool, String);

fn work(cell: &PooledCell) -> Work<'_> {
    let key = &cell.key;
    let test = key.work().canonical();
    (&key.model, key.random_weights, key.mode, key.sequence_length, key.imported, test)
}

/// For each cell whether it lies on the front of those of its work; one that is not valid beats nobody and is beaten by nobody.
pub(super) fn fronts(cells: &[PooledCell]) -> Vec<Reading<bool>> {
    let works: Vec<Work<'_>> = cells.iter().map(work).collect();
    let believed = cells.iter().enumerate().filter(|(_, cell)| cell.invalid.is_none());
    let mut all: Vec<(usize, Point)> =
        believed.filter_map(|(at, cell)| Some((at, Point::of(cell)?))).collect();
    // By work, then by latency: only a cell before it, or one as fast, can beat a cell.
    all.sort_by(|(a, p), (b, q)| works[*a].cmp(&works[*b]).then(p.0[0].total_cmp(&q.0[0])));
    let missing = "it needs latency, throughput and memory, and one of them is unknown";
    let mut found = vec![Reading::missing(MissingCode::Underivable, missing); cells.len()];
    for (reading, _) in found.iter_mut().zip(cells).filter(|(_, cell)| cell.invalid.is_some()) {
        *reading = Reading::missing(MissingCode::NoValidRun, "it has no valid run");
    }
    for group in all.chunk_by(|(a, _), (b, _)| works[*a] == works[*b]) {
        let mut front: Vec<Point> = Vec::new();
        for (place, (at, point)) in group.iter().enumerate() {
            let later = group[place + 1..].iter();
            let mut as_fast = later.take_while(|(_, other)| other.0[0] <= point.0[0]);
            let beaten = front.iter().any(|other| other.dominates(point))
                || as_fast.any(|(_, other)| other.dominates(point));
            if !beaten {
                front.push(*point);
            }
            found[*at] = Reading::of(!beaten);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn better_in_one_and_worse_in_none_dominates() {
        let point = Point([1.0, -10.0, 5.0]);
        assert!(point.dominates(&Point([1.0, -10.0, 6.0])));
        assert!(point.dominates(&Point([2.0, -9.0, 6.0])));
        assert!(!point.dominates(&point), "an equal does not");
        assert!(!point.dominates(&Point([0.5, -1.0, 9.0])));
    }
}
