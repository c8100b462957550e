//! Which part of a plan belongs to one task of an array.

use crate::PlanError;
use std::{fmt, str::FromStr};
use types::Task;

/// The `index`th of `count` parts; counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    index: usize,
    count: usize,
}

impl Shard {
    /// The `index`th of `count` parts, counted from 1.
    ///
    /// # Errors
    /// Where there is no such part.
    pub fn new(index: usize, count: usize) -> Result<Shard, PlanError> {
        if index == 0 || index > count {
            let text = format!("there is no shard {index} of {count}; count from 1: 1/{count}");
            return Err(PlanError::Rule(text));
        }
        Ok(Shard { index, count })
    }

    /// The cells that belong to this part: every `count`th, so that cells that are added at the end move no other.
    #[must_use]
    pub fn of(self, cells: Vec<Task>) -> Vec<Task> {
        let mine = |(at, _): &(usize, Task)| at % self.count == self.index - 1;
        cells.into_iter().enumerate().filter(mine).map(|(_, task)| task).collect()
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Shard, String> {
        let wrong = || format!("`{text}` is not a shard; write 2/8 for the second of eight");
        let (index, count) = text.split_once('/').ok_or_else(wrong)?;
        let (index, count) = (index.trim().parse(), count.trim().parse());
        let (Ok(index), Ok(count)) = (index, count) else { return Err(wrong()) };
        Shard::new(index, count).map_err(|error| error.to_string())
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index, self.count)
    }
}

/// The part that a Slurm array or an indexed job of Kubernetes gives to this process; `None` outside of both.
///
/// Kubernetes tells the index alone: the manifest says how many there are in `JOB_COMPLETIONS`.
///
/// # Errors
/// Where the variables contradict each other.
pub fn shard_of_environment(
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Option<Shard>, PlanError> {
    let number = |name: &str| -> Result<Option<usize>, PlanError> {
        let Some(text) = variable(name).filter(|text| !text.is_empty()) else { return Ok(None) };
        let wrong = |_| PlanError::Rule(format!("`{name}` is `{text}`, which is not a number"));
        text.trim().parse().map(Some).map_err(wrong)
    };
    if let Some(id) = number("SLURM_ARRAY_TASK_ID")? {
        let first = number("SLURM_ARRAY_TASK_MIN")?.unwrap_or(0);
        let last = number("SLURM_ARRAY_TASK_MAX")?.unwrap_or(id);
        let step = number("SLURM_ARRAY_TASK_STEP")?.unwrap_or(1).max(1);
        let count = number("SLURM_ARRAY_TASK_COUNT")?;
        let count = count.unwrap_or_else(|| last.saturating_sub(first) / step + 1);
        let place = id.saturating_sub(first) / step + 1;
        return Shard::new(place, count).map(Some);
    }
    if let Some(index) = number("JOB_COMPLETION_INDEX")? {
        let Some(count) = number("JOB_COMPLETIONS")? else {
            return Err(PlanError::Rule(
                "`JOB_COMPLETION_INDEX` is set but not `JOB_COMPLETIONS`, so the number of shards is unknown; \
                 set it in the job's manifest, or give `--shard`"
                    .into(),
            ));
        };
        return Shard::new(index + 1, count).map(Some);
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::unit::tests::task;

    fn environment(pairs: &[(&str, &str)]) -> Result<Option<Shard>, PlanError> {
        shard_of_environment(|name| {
            pairs.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn every_cell_belongs_to_one_shard() {
        let cells: Vec<Task> = (1..=10).map(|batch| task("gpt2", batch)).collect();
        let mut all: Vec<Task> = Vec::new();
        for index in 1..=3 {
            let part = Shard::new(index, 3).unwrap().of(cells.clone());
            assert!((3..=4).contains(&part.len()));
            all.extend(part);
        }
        all.sort_by_key(|task| task.batch_size);
        assert_eq!(all, cells);
    }

    #[test]
    fn shards_are_read_and_refused() {
        assert_eq!("2/8".parse::<Shard>().unwrap().to_string(), "2/8");
        for wrong in ["0/8", "9/8", "2", "a/b", "2/0"] {
            assert!(wrong.parse::<Shard>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn arrays_of_slurm_and_kubernetes_are_understood() {
        let slurm = [
            ("SLURM_ARRAY_TASK_ID", "7"),
            ("SLURM_ARRAY_TASK_MIN", "3"),
            ("SLURM_ARRAY_TASK_MAX", "9"),
            ("SLURM_ARRAY_TASK_STEP", "2"),
            ("SLURM_ARRAY_TASK_COUNT", "4"),
        ];
        assert_eq!(environment(&slurm).unwrap(), Some(Shard { index: 3, count: 4 }));
        let kubernetes = [("JOB_COMPLETION_INDEX", "0"), ("JOB_COMPLETIONS", "4")];
        assert_eq!(environment(&kubernetes).unwrap(), Some(Shard { index: 1, count: 4 }));
        assert!(environment(&[("JOB_COMPLETION_INDEX", "0")]).is_err());
        assert!(environment(&[("SLURM_ARRAY_TASK_ID", "x")]).is_err());
        assert_eq!(environment(&[]).unwrap(), None);
    }
}
