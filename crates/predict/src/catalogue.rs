//! Stated peaks of processors and GPUs by name: ours, and a user's own in the same form.

use crate::Error;
use serde::Deserialize;

const OWN: &str = include_str!("../data/hardware.toml");
const TERA: f64 = 1e12;
const GIGA: f64 = 1e9;
/// Characters of a name that a mistyped one shares with others without meaning them.
const SHORTEST: usize = 2;

/// A processor or GPU as its manufacturer states it, in SI base units.
#[derive(Debug, Clone, PartialEq)]
pub struct Hardware {
    /// Its name.
    pub name: String,
    /// Whether it is a GPU.
    pub is_gpu: bool,
    /// Operations per second in 32 bits.
    pub single: f64,
    /// The same in 16 bits with sums in 32; a processor's is that of 32 bits unless stated.
    pub half: f64,
    /// Bytes per second from its memory.
    pub bandwidth: f64,
    /// Bytes of memory, where it has its own.
    pub memory: Option<f64>,
    /// Bytes of its last cache.
    pub cache: Option<f64>,
    /// Cores, of a processor.
    pub cores: Option<u32>,
    /// Where the numbers are from.
    pub source: String,
    aliases: Vec<String>,
}

/// All known hardware.
#[derive(Debug, Clone)]
pub struct Catalogue {
    entries: Vec<Hardware>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    gpu: Vec<Entry>,
    #[serde(default)]
    processor: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: String,
    #[serde(default)]
    aliases: Vec<String>,
    single: Option<f64>,
    half: Option<f64>,
    bandwidth: Option<f64>,
    memory: Option<f64>,
    cache: Option<f64>,
    cores: Option<u32>,
    source: Option<String>,
}

impl Catalogue {
    /// What is known without a user's file.
    ///
    /// # Panics
    ///
    /// Never: a test reads the file that is built in.
    #[must_use]
    pub fn own() -> Catalogue {
        Catalogue { entries: entries(OWN).expect("the catalogue that is built in can be read") }
    }

    /// With a user's entries, which come first.
    ///
    /// # Errors
    ///
    /// If the text is no catalogue, or an entry lacks a peak, its bandwidth or its source.
    pub fn with(mut self, text: &str) -> Result<Catalogue, Error> {
        let mut all = entries(text)?;
        all.append(&mut self.entries);
        Ok(Catalogue { entries: all })
    }

    /// The entry whose name is meant: letter case, makers' names and signs do not count. The last words of a name are enough
    /// where one entry alone has them and they hold a number: `4090`, but not `16GB` or `6000`.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&Hardware> {
        let asked = words(name);
        if asked.concat().len() < SHORTEST {
            return None;
        }
        let (bare, memory) = without_memory(&asked);
        self.exact(&asked)
            .or_else(|| {
                // `RTX 4090 (24 GB)`: of the entry's own memory, or another product.
                let found = self.exact(bare).filter(|_| memory.is_some() && !bare.is_empty())?;
                let is_its = |own: f64| memory.is_some_and(|asked| (asked / own).ln().abs() < 0.1);
                found.memory.is_some_and(is_its).then_some(found)
            })
            .or_else(|| {
                // `HBM3` is a kind of memory.
                let is_memory = |word: &str| word.starts_with("hbm") || word.starts_with("gddr");
                let has_number = bare
                    .iter()
                    .any(|word| !is_memory(word) && word.bytes().any(|byte| byte.is_ascii_digit()));
                let mut found = self.entries.iter().filter(|entry| {
                    let mut names = entry.names();
                    has_number && memory.is_none() && names.any(|own| words(own).ends_with(&asked))
                });
                found.next().filter(|_| found.next().is_none())
            })
    }

    fn exact(&self, asked: &[String]) -> Option<&Hardware> {
        let asked = asked.concat();
        self.entries.iter().find(|entry| entry.names().any(|own| plain(own) == asked))
    }

    /// Names that resemble one that is not known, the most alike first.
    #[must_use]
    pub fn near(&self, name: &str) -> Vec<&str> {
        let asked = plain(name);
        let alike = |entry: &Hardware| {
            entry.names().map(|own| types::likeness(&plain(own), &asked)).fold(0.0, f64::max)
        };
        types::near_by(self.entries.iter().map(|entry| (alike(entry), entry.name.as_str())))
    }

    /// Every entry.
    #[must_use]
    pub fn entries(&self) -> &[Hardware] {
        &self.entries
    }
}

fn entries(text: &str) -> Result<Vec<Hardware>, Error> {
    let file: File = toml::from_str(text).map_err(|error| Error::Catalogue(error.to_string()))?;
    let gpus = file.gpu.into_iter().map(|entry| (true, entry));
    let all = gpus.chain(file.processor.into_iter().map(|entry| (false, entry)));
    all.map(|(is_gpu, entry)| entry.hardware(is_gpu)).collect()
}

impl Entry {
    fn hardware(self, is_gpu: bool) -> Result<Hardware, Error> {
        let name = self.name.clone();
        let positive = |key: &str, value: Option<f64>| match value {
            Some(value) if value.is_finite() && value > 0.0 => Ok(value),
            Some(value) => Err(Error::Catalogue(format!(
                "`{key}` of `{name}` is {value}, which is not possible"
            ))),
            None => Err(Error::Catalogue(format!("`{name}` has no `{key}`"))),
        };
        let single = positive("single", self.single)?;
        let optional =
            |key: &str, value: Option<f64>| value.map(|_| positive(key, value)).transpose();
        let half = optional("half", self.half)?.unwrap_or(single);
        let bandwidth = positive("bandwidth", self.bandwidth)?;
        let memory = optional("memory", self.memory)?;
        let cache = optional("cache", self.cache)?;
        let source = self
            .source
            .clone()
            .ok_or_else(|| Error::Catalogue(format!("`{name}` has no `source`")))?;
        Ok(Hardware {
            is_gpu,
            single: single * TERA,
            half: half * TERA,
            bandwidth: bandwidth * GIGA,
            memory: memory.map(|memory| memory * GIGA),
            cache: cache.map(|cache| cache * 1e6),
            cores: self.cores,
            source,
            aliases: self.aliases,
            name: self.name,
        })
    }
}

impl Hardware {
    /// Who makes it, where its name or its source says so: drivers and libraries of two makers have nothing in common.
    #[must_use]
    pub fn maker(&self) -> Option<&'static str> {
        maker(&self.name).or_else(|| maker(&self.source))
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.name.as_str()).chain(self.aliases.iter().map(String::as_str))
    }
}

/// The maker of a GPU by the words of its name.
pub(crate) fn maker(name: &str) -> Option<&'static str> {
    let lower = name.to_ascii_lowercase();
    let mut words = lower.split(|letter: char| !letter.is_ascii_alphanumeric());
    words.find_map(|word| match word {
        "nvidia" | "geforce" | "rtx" | "gtx" | "tesla" | "quadro" | "titan" => Some("NVIDIA"),
        "amd" | "radeon" | "instinct" => Some("AMD"),
        "intel" | "arc" => Some("Intel"),
        "apple" => Some("Apple"),
        _ => None,
    })
}

/// What stands before a size of memory at the end, and the size in bytes.
fn without_memory(asked: &[String]) -> (&[String], Option<f64>) {
    let size = |text: &str| text.parse::<f64>().ok().filter(|size| *size > 0.0);
    match asked {
        [before @ .., number, unit] if unit == "gb" && size(number).is_some() => {
            (before, size(number).map(|size| size * GIGA))
        }
        [before @ .., last] => match last.strip_suffix("gb").and_then(size) {
            Some(size) => (before, Some(size * GIGA)),
            None => (asked, None),
        },
        [] => (asked, None),
    }
}

/// A name without what does not tell two products apart.
fn plain(name: &str) -> String {
    words(name).concat()
}

fn words(name: &str) -> Vec<String> {
    let lower = name.to_ascii_lowercase().replace("(r)", " ").replace("(tm)", " ");
    // `CPU @ 2.50GHz` and `96-Core Processor` say nothing that the number before does not.
    let lower = lower.split('@').next().unwrap_or_default();
    let lower = match lower.split_once("-core processor") {
        Some((before, _)) => before.trim_end_matches(|letter: char| letter.is_ascii_digit()),
        None => lower,
    };
    let words = lower.split(|letter: char| !letter.is_ascii_alphanumeric());
    let told = |word: &&str| {
        !matches!(
            *word,
            "" | "nvidia"
                | "amd"
                | "intel"
                | "geforce"
                | "cpu"
                | "gpu"
                | "processor"
                | "graphics"
                | "generation"
        )
    };
    words.filter(told).map(str::to_owned).collect()
}
