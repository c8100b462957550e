//! Which numbered modules one line may stand for: those of a list that do the same work.

use crate::ancestry;
use std::collections::{BTreeMap, HashMap};

/// How far the work of modules that stand for each other may differ; borders of a list cost a little more or less.
const ALIKE: f64 = 0.05;

/// Stretches of numbers told at most.
const STRETCHES: usize = 3;

/// What a module does: FLOPs, and bytes read and written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ModuleWork {
    /// FLOPs.
    pub flops: u64,
    /// Bytes read and written.
    pub bytes: u64,
}

impl ModuleWork {
    fn is_like(self, other: ModuleWork) -> bool {
        let alike = |a: u64, b: u64| a.abs_diff(b) as f64 <= ALIKE * a.max(b) as f64;
        alike(self.flops, other.flops) && alike(self.bytes, other.bytes)
    }
}

/// What stands for the numbers in paths: `*` for all modules of a list, `1…5` for those that do the same work.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Pooling {
    /// By the path that ends in the number. Lists whose work is unknown are not here.
    names: HashMap<String, String>,
}

impl Pooling {
    /// From modules with the work of everything inside them.
    pub fn of<'a>(modules: impl IntoIterator<Item = (&'a str, ModuleWork)>) -> Pooling {
        let mut lists: BTreeMap<&str, BTreeMap<u64, ModuleWork>> = BTreeMap::new();
        for (path, work) in modules {
            let (list, number) = path.rsplit_once('.').unwrap_or(("", path));
            if let Some(number) = parse(number) {
                lists.entry(list).or_default().insert(number, work);
            }
        }
        let mut names = HashMap::new();
        for (list, members) in lists {
            let mut groups: Vec<(ModuleWork, Vec<u64>)> = Vec::new();
            for (number, work) in members {
                match groups.iter_mut().find(|(first, _)| first.is_like(work)) {
                    Some((_, numbers)) => numbers.push(number),
                    None => groups.push((work, vec![number])),
                }
            }
            let is_all = groups.len() == 1;
            for (_, numbers) in groups {
                let name = if is_all && numbers.len() > 1 { "*".into() } else { told(&numbers) };
                for number in numbers {
                    let path = match list {
                        "" => number.to_string(),
                        list => format!("{list}.{number}"),
                    };
                    names.insert(path, name.clone());
                }
            }
        }
        Pooling { names }
    }

    /// From the work of the smallest parts, which is that of every module around them too.
    pub fn of_parts<'a>(parts: impl IntoIterator<Item = (&'a str, ModuleWork)>) -> Pooling {
        let mut sums: BTreeMap<&str, ModuleWork> = BTreeMap::new();
        for (path, work) in parts {
            for module in ancestry(path) {
                let sum = sums.entry(module).or_default();
                sum.flops = sum.flops.saturating_add(work.flops);
                sum.bytes = sum.bytes.saturating_add(work.bytes);
            }
        }
        Pooling::of(sums)
    }

    /// The path of the line that stands for a module.
    #[must_use]
    pub fn path(&self, path: &str) -> String {
        let mut end = 0;
        let mut pooled = String::with_capacity(path.len());
        for part in path.split('.') {
            end += part.len();
            if !pooled.is_empty() {
                pooled.push('.');
            }
            match parse(part) {
                Some(_) => pooled.push_str(self.names.get(&path[..end]).map_or("*", |name| name)),
                None => pooled.push_str(part),
            }
            end += 1;
        }
        pooled
    }
}

/// The path with `*` for every part that is a number: the same place in every layer.
#[must_use]
pub fn pooled_path(path: &str) -> String {
    Pooling::default().path(path)
}

/// The part of a pooled path up to the last list that several modules of were put together.
#[must_use]
pub fn pooled_list(path: &str) -> Option<&str> {
    let last = path.rfind(['*', '…', ','])?;
    let end = path[last..].find('.').map_or(path.len(), |dot| last + dot);
    Some(&path[..end])
}

fn parse(part: &str) -> Option<u64> {
    part.bytes().all(|byte| byte.is_ascii_digit()).then(|| part.parse().ok())?
}

/// Numbers in short: `0`, `1,2`, `1…5`, `0…2,4…6,8,…`.
fn told(numbers: &[u64]) -> String {
    let stretches: Vec<&[u64]> = numbers.chunk_by(|a, b| a + 1 == *b).collect();
    let mut text: Vec<String> = stretches
        .iter()
        .take(STRETCHES)
        .map(|stretch| match stretch {
            [one] => one.to_string(),
            [one, two] => format!("{one},{two}"),
            [first, .., last] => format!("{first}…{last}"),
            [] => String::new(),
        })
        .collect();
    if stretches.len() > STRETCHES {
        text.push("…".into());
    }
    text.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn work(flops: u64, bytes: u64) -> ModuleWork {
        ModuleWork { flops, bytes }
    }

    #[test]
    fn a_number_stands_for_its_place_in_every_layer() {
        for (path, pooled) in [
            ("encoder.layer.11.output.dense", "encoder.layer.*.output.dense"),
            ("h.0.mlp.c_fc", "h.*.mlp.c_fc"),
            ("ffn.lin1", "ffn.lin1"),
            ("0.weight", "*.weight"),
            ("", ""),
        ] {
            assert_eq!(pooled_path(path), pooled);
        }
    }

    #[test]
    fn stages_that_do_other_work_keep_their_numbers() {
        // Twice the channels on a quarter of the pixels: the same FLOPs, other bytes.
        let stages = [work(100, 40), work(100, 20), work(300, 20), work(302, 20), work(299, 20)];
        let paths: Vec<String> = (0..5).map(|at| format!("model.{at}")).collect();
        let pooling = Pooling::of(paths.iter().map(String::as_str).zip(stages));
        let told = |path: &str| pooling.path(path);
        assert_eq!(told("model.0.conv"), "model.0.conv");
        assert_eq!(told("model.1"), "model.1");
        assert_eq!(told("model.3.cv1"), "model.2…4.cv1");
        // What nobody counted is put together as before.
        assert_eq!(told("head.0"), "head.*");
    }

    #[test]
    fn alike_layers_are_one_and_a_lone_one_is_itself() {
        let parts = ["h.0.a", "h.0.b", "h.1.a", "h.1.b", "tail.0.a"];
        let pooling = Pooling::of_parts(parts.map(|path| (path, work(5, 5))));
        assert_eq!(pooling.path("h.1.b"), "h.*.b");
        assert_eq!(pooling.path("tail.0.a"), "tail.0.a");
    }

    #[test]
    fn numbers_are_told_in_short() {
        assert_eq!(told(&[7]), "7");
        assert_eq!(told(&[1, 2]), "1,2");
        assert_eq!(told(&[0, 1, 2, 5, 6]), "0…2,5,6");
        assert_eq!(told(&[0, 2, 4, 6, 8]), "0,2,4,…");
        assert_eq!(pooled_list("model.2…4.cv1.conv"), Some("model.2…4"));
        assert_eq!(pooled_list("h.*.b.*"), Some("h.*.b.*"));
        assert_eq!(pooled_list("model.0.conv"), None);
    }
}
