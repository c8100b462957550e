//! Damage to JSON: other types, numbers beyond all types, missing and repeated keys, deep nesting.

use super::{LONGEST, begin, bytes};
use crate::Random;
use serde_json::Value;

/// Texts of values at which readers go wrong; not all are JSON.
const ODD: [&str; 34] = [
    "null",
    "true",
    "false",
    "0",
    "1",
    "-1",
    "-0.0",
    "0.5",
    "2.5",
    "1e300",
    "-1e308",
    "1e999",
    "5e-324",
    "NaN",
    "Infinity",
    "127",
    "255",
    "65536",
    "2147483647",
    "2147483648",
    "4294967296",
    "9007199254740993",
    "9223372036854775807",
    "-9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "\"\"",
    "\"\\u0000\"",
    "\"a\"",
    "\"18446744073709551616\"",
    "\"\\ud83d\\ude00\"",
    "[]",
    "{}",
    "[[]]",
];

/// A document with its keys in order and each number as it is written, so that it can hold what no parser would give.
#[derive(Debug, Clone)]
enum Tree {
    Raw(String),
    List(Vec<Tree>),
    Object(Vec<(String, Tree)>),
}

/// A document with a few values changed.
pub(crate) fn mutate(random: &mut Random, seeds: &[Vec<u8>]) -> Vec<u8> {
    let seed = begin(random, seeds);
    document(random, &seed, seeds)
}

/// Several documents, one per line: values change, and whole lines are repeated, moved or lost.
pub(crate) fn lines(random: &mut Random, seeds: &[Vec<u8>]) -> Vec<u8> {
    let seed = begin(random, seeds);
    let mut all: Vec<Vec<u8>> = seed
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
        .map(<[u8]>::to_vec)
        .collect();
    for _ in 0..random.changes() {
        let (at, other) = (random.below(all.len()), random.below(all.len()));
        match random.below(10) {
            0 if !all.is_empty() => {
                all.remove(at);
            }
            1 if !all.is_empty() => {
                let line = all[at].clone();
                all.insert(other, line);
            }
            2 if !all.is_empty() => all.swap(at, other),
            3 => {
                let from = begin(random, seeds);
                let strangers: Vec<&[u8]> = from.split(|byte| *byte == b'\n').collect();
                let line = random.pick(&strangers).map(|line| line.to_vec()).unwrap_or_default();
                all.insert(at, line);
            }
            _ if !all.is_empty() => {
                let line = all[at].clone();
                all[at] = document(random, &line, &[]);
                all[at].retain(|byte| *byte != b'\n');
            }
            _ => {}
        }
    }
    let mut text = all.join(&b'\n');
    if !random.percent(5) {
        text.push(b'\n');
    }
    text
}

/// A document whose numbers and texts are changed, and its shape seldom: it mostly still says what its reader asked for.
pub(crate) fn leaves(random: &mut Random, seed: &[u8]) -> Vec<u8> {
    let value = serde_json::from_slice::<Value>(seed).ok().filter(|_| !random.percent(5));
    let Some(value) = value else { return document(random, seed, &[]) };
    let mut tree = Tree::of(&value);
    let places: Vec<usize> =
        (0..tree.count()).filter(|place| matches!(tree.at(*place), Tree::Raw(_))).collect();
    for _ in 0..random.changes() {
        let Some(place) = random.pick(&places) else { break };
        if let Tree::Raw(text) = tree.at_mut(*place) {
            if text.starts_with('"') || random.percent(70) {
                change_text(random, text);
            } else {
                *text = random.edge().to_string();
            }
        }
    }
    let mut text = String::new();
    tree.write(&mut text);
    text.into_bytes()
}

fn document(random: &mut Random, seed: &[u8], seeds: &[Vec<u8>]) -> Vec<u8> {
    let Ok(value) = serde_json::from_slice::<Value>(seed) else {
        let mut text = seed.to_vec();
        bytes::change(random, &mut text, seeds);
        return text;
    };
    let mut tree = Tree::of(&value);
    let other = random
        .pick(seeds)
        .and_then(|seed| serde_json::from_slice::<Value>(seed).ok())
        .map_or_else(|| tree.clone(), |value| Tree::of(&value));
    for _ in 0..random.changes() {
        if tree.size() > LONGEST {
            break;
        }
        let at = random.below(tree.count());
        let graft = other.at(random.below(other.count())).clone();
        change(random, tree.at_mut(at), graft);
    }
    let mut text = String::new();
    tree.write(&mut text);
    let mut text = text.into_bytes();
    if random.percent(8) {
        bytes::change(random, &mut text, seeds);
    }
    text.truncate(LONGEST);
    text
}

/// One change of a value.
fn change(random: &mut Random, tree: &mut Tree, graft: Tree) {
    match (random.below(12), tree) {
        (0..3, tree) => *tree = odd(random),
        (3, tree) => *tree = graft,
        (4, tree) => *tree = nested(random, tree),
        (_, Tree::List(items)) => change_list(random, items, graft),
        (_, Tree::Object(pairs)) => change_object(random, pairs, graft),
        (_, Tree::Raw(text)) => change_text(random, text),
    }
}

fn odd(random: &mut Random) -> Tree {
    if random.percent(40) {
        return Tree::Raw(random.edge().to_string());
    }
    Tree::Raw(ODD[random.below(ODD.len())].to_owned())
}

fn nested(random: &mut Random, inner: &Tree) -> Tree {
    let mut text = String::new();
    inner.write(&mut text);
    let deep = [1, 2, 100, 126, 127, 128, 5_000, 200_000][random.below(8)];
    match random.percent(50) {
        true => Tree::Raw(format!("{}{text}{}", "[".repeat(deep), "]".repeat(deep))),
        false => Tree::Raw(format!("{}{text}{}", "{\"a\":".repeat(deep), "}".repeat(deep))),
    }
}

fn change_list(random: &mut Random, items: &mut Vec<Tree>, graft: Tree) {
    let at = random.below(items.len());
    match random.below(5) {
        0 if !items.is_empty() => {
            items.remove(at);
        }
        1 if !items.is_empty() => {
            let times = [1, 3, 100, 5_000][random.below(4)];
            let item = items[at].clone();
            let room = LONGEST / (1 + item.size());
            items.splice(at..at, std::iter::repeat_n(item, times.min(room)));
        }
        2 => items.insert(at, graft),
        3 => items.clear(),
        _ => items.reverse(),
    }
}

fn change_object(random: &mut Random, pairs: &mut Vec<(String, Tree)>, graft: Tree) {
    let (at, other) = (random.below(pairs.len()), random.below(pairs.len()));
    match random.below(6) {
        0 | 1 if !pairs.is_empty() => {
            pairs.remove(at);
        }
        2 if !pairs.is_empty() => {
            let name = pairs[at].0.clone();
            pairs.push((name, graft));
        }
        3 if !pairs.is_empty() => pairs[at].0 = pairs[other].0.clone(),
        4 if !pairs.is_empty() => {
            let taken = pairs[at].1.clone();
            pairs[other].1 = taken;
        }
        _ => pairs.push(("x".to_owned(), graft)),
    }
}

fn change_text(random: &mut Random, text: &mut String) {
    if let Ok(number) = text.parse::<i64>() {
        let changed = match random.below(6) {
            0 => number.wrapping_add(1),
            1 => number.wrapping_sub(1),
            2 => number.wrapping_mul(2),
            3 => number.wrapping_mul(1_000),
            4 => number.wrapping_neg(),
            _ => random.edge(),
        };
        *text = changed.to_string();
    } else if text.parse::<f64>().is_ok() {
        let ending = ["e300", "e-300", "0000000000000000000000", ""][random.below(4)];
        *text = format!("{}{ending}", text.trim_end_matches(['e', '+']));
    } else if text.starts_with('"') {
        let inner: String = text.trim_matches('"').to_owned();
        let changed = match random.below(5) {
            0 => inner.chars().rev().collect(),
            1 => inner.repeat((1 + random.below(200)).min(LONGEST / inner.len().max(1))),
            2 => inner.chars().take(random.below(inner.len().max(1))).collect(),
            3 => format!("{inner}\u{301}é☾"),
            _ => random.edge().to_string(),
        };
        // A cut may have split an escape; what is no JSON then is a case too.
        *text = format!("\"{changed}\"");
    } else {
        *text = ODD[random.below(ODD.len())].to_owned();
    }
}

impl Tree {
    fn of(value: &Value) -> Tree {
        match value {
            Value::Array(items) => Tree::List(items.iter().map(Tree::of).collect()),
            Value::Object(map) => Tree::Object(
                map.iter().map(|(key, value)| (key.clone(), Tree::of(value))).collect(),
            ),
            other => Tree::Raw(other.to_string()),
        }
    }

    /// How many values, itself included.
    fn count(&self) -> usize {
        match self {
            Tree::Raw(_) => 1,
            Tree::List(items) => 1 + items.iter().map(Tree::count).sum::<usize>(),
            Tree::Object(pairs) => 1 + pairs.iter().map(|(_, value)| value.count()).sum::<usize>(),
        }
    }

    /// About how many bytes it is written in.
    fn size(&self) -> usize {
        match self {
            Tree::Raw(text) => text.len(),
            Tree::List(items) => 2 + items.iter().map(|item| 1 + item.size()).sum::<usize>(),
            Tree::Object(pairs) => {
                2 + pairs.iter().map(|(key, value)| 4 + key.len() + value.size()).sum::<usize>()
            }
        }
    }

    /// The value at a place, counted from itself downwards.
    fn at(&self, place: usize) -> &Tree {
        let Some(mut rest) = place.checked_sub(1) else { return self };
        let children: Vec<&Tree> = match self {
            Tree::Raw(_) => Vec::new(),
            Tree::List(items) => items.iter().collect(),
            Tree::Object(pairs) => pairs.iter().map(|(_, value)| value).collect(),
        };
        for child in children {
            let count = child.count();
            if rest < count {
                return child.at(rest);
            }
            rest -= count;
        }
        self
    }

    fn at_mut(&mut self, place: usize) -> &mut Tree {
        let Some(mut rest) = place.checked_sub(1) else { return self };
        let counts: Vec<usize> = match self {
            Tree::Raw(_) => Vec::new(),
            Tree::List(items) => items.iter().map(Tree::count).collect(),
            Tree::Object(pairs) => pairs.iter().map(|(_, value)| value.count()).collect(),
        };
        let mut found = None;
        for (index, count) in counts.into_iter().enumerate() {
            if rest < count {
                found = Some(index);
                break;
            }
            rest -= count;
        }
        match (self, found) {
            (Tree::List(items), Some(index)) => items[index].at_mut(rest),
            (Tree::Object(pairs), Some(index)) => pairs[index].1.at_mut(rest),
            (tree, _) => tree,
        }
    }

    fn write(&self, out: &mut String) {
        match self {
            Tree::Raw(text) => out.push_str(text),
            Tree::List(items) => {
                out.push('[');
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    item.write(out);
                }
                out.push(']');
            }
            Tree::Object(pairs) => {
                out.push('{');
                for (index, (key, value)) in pairs.iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    out.push_str(&Value::from(key.as_str()).to_string());
                    out.push(':');
                    value.write(out);
                }
                out.push('}');
            }
        }
    }
}
