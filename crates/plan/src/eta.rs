//! How long a plan will still take, from how long its cells took so far.

use std::{collections::HashMap, time::Duration};

/// What is known of how long cells take.
#[derive(Debug, Default)]
pub(crate) struct Eta {
    cells: HashMap<String, Taken>,
    all: Taken,
}

#[derive(Debug, Default, Clone, Copy)]
struct Taken {
    count: u32,
    sum: Duration,
}

impl Taken {
    fn add(&mut self, took: Duration) {
        self.count += 1;
        self.sum += took;
    }

    fn mean(self) -> Option<Duration> {
        (self.count > 0).then(|| self.sum / self.count)
    }
}

impl Eta {
    /// A process of this cell took so long.
    pub(crate) fn learn(&mut self, cell: &str, took: Duration) {
        self.cells.entry(cell.to_owned()).or_default().add(took);
        self.all.add(took);
    }

    /// How long these will take: as long as before where they were measured before, as long as the others else.
    pub(crate) fn left<'a>(&self, cells: impl Iterator<Item = &'a str>) -> Option<Duration> {
        let usual = self.all.mean()?;
        let one = |cell: &str| self.cells.get(cell).and_then(|taken| taken.mean()).unwrap_or(usual);
        Some(cells.map(one).sum())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_that_were_measured_take_as_long_again_and_others_the_average() {
        let mut eta = Eta::default();
        assert_eq!(eta.left(["a"].into_iter()), None);
        eta.learn("a", Duration::from_secs(2));
        eta.learn("b", Duration::from_secs(10));
        let left = eta.left(["a", "b", "c"].into_iter());
        assert_eq!(left, Some(Duration::from_secs(2 + 10 + 6)));
        assert_eq!(eta.left(std::iter::empty()), Some(Duration::ZERO));
    }
}
