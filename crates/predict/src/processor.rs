//! What a processor's name tells: its generation, its clock, how much it multiplies in a cycle.
//!
//! Clouds rename their processors, so names are read by the makers' rules (the second digit of a Xeon, the last of an EPYC)
//! and instruction sets decide where a name says nothing.

/// What a processor of this name and with these instructions can do; rough, since what is learned corrects it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Traits {
    /// A place in time that both makers share, about one a generation.
    pub(crate) generation: f64,
    /// Which design: products of one design are alike.
    pub(crate) design: f64,
    /// Clock with all cores busy, in GHz.
    pub(crate) clock: f64,
    /// Operations on bytes per cycle and core, as llama.cpp's kernels reach them.
    pub(crate) operations: f64,
}

/// The instructions that matter for matrix products.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Instructions {
    pub(crate) avx2: bool,
    pub(crate) avx512: bool,
    pub(crate) vnni: bool,
    pub(crate) amx: bool,
    pub(crate) sve: bool,
}

/// Design, generation, clock, operations: rough shares of what the units could do, since unpacking weights takes most of it.
const DESIGNS: &[(&str, f64, f64, f64)] = &[
    ("ivy-bridge", 1.0, 2.8, 12.0),
    ("haswell", 2.0, 2.6, 64.0),
    ("broadwell", 2.2, 2.7, 64.0),
    ("client-skylake", 3.0, 4.4, 64.0),
    ("skylake", 3.0, 2.9, 64.0),
    ("cascade-lake", 3.5, 3.1, 72.0),
    ("cooper-lake", 3.6, 3.6, 72.0),
    ("ice-lake", 4.0, 3.1, 72.0),
    ("sapphire-rapids", 5.0, 3.0, 160.0),
    ("emerald-rapids", 5.2, 3.1, 160.0),
    ("granite-rapids", 6.0, 3.4, 160.0),
    ("zen", 2.5, 2.6, 40.0),
    ("zen2", 3.2, 3.1, 60.0),
    ("zen3", 4.1, 3.3, 64.0),
    ("zen4", 5.1, 3.6, 64.0),
    ("zen5", 6.1, 4.1, 80.0),
    ("neoverse-n1", 3.3, 3.0, 20.0),
    ("neoverse-n2", 4.4, 3.0, 24.0),
    ("neoverse-n3", 6.2, 3.2, 28.0),
    ("neoverse-v1", 4.2, 2.6, 24.0),
    ("neoverse-v2", 5.3, 2.8, 26.0),
    ("neoverse-v3", 6.3, 3.3, 32.0),
];

impl Traits {
    /// What the name says, otherwise what the instructions say.
    pub(crate) fn of(name: &str, is_x86: bool, has: Instructions) -> Traits {
        let design = by_name(&name.to_ascii_lowercase()).unwrap_or(match (is_x86, has) {
            (false, Instructions { sve: true, .. }) => "neoverse-v1",
            (false, _) => "neoverse-n1",
            (_, Instructions { amx: true, .. }) => "sapphire-rapids",
            (_, Instructions { vnni: true, .. }) => "cascade-lake",
            (_, Instructions { avx512: true, .. }) => "skylake",
            (_, Instructions { avx2: true, .. }) => "broadwell",
            _ => "ivy-bridge",
        });
        let at = DESIGNS.iter().position(|(name, ..)| *name == design).unwrap_or(0);
        let (_, generation, clock, operations) = DESIGNS[at];
        Traits { generation, design: at as f64, clock, operations }
    }
}

fn by_name(name: &str) -> Option<&'static str> {
    let words: Vec<&str> = name
        .split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '-')
        .filter(|word| !word.is_empty())
        .collect();
    if let Some((known, ..)) = DESIGNS.iter().find(|(known, ..)| words.contains(known)) {
        return Some(known);
    }
    if name.contains("epyc") || name.contains("ryzen") {
        return amd(name, &words);
    }
    let has = |part: &str| name.contains(part);
    if has("haswell") || words.contains(&"v3") {
        return Some("haswell");
    }
    if has("broadwell") || words.contains(&"v4") {
        return Some("broadwell");
    }
    if words.contains(&"v2") {
        return Some("ivy-bridge");
    }
    if has("e3-12") || has("e-21") || has("e-22") {
        return Some("client-skylake");
    }
    if has("e-23") || has("icelake") {
        return Some("ice-lake");
    }
    if has("cascadelake") {
        return Some("cascade-lake");
    }
    if has("sapphirerapids") {
        return Some("sapphire-rapids");
    }
    if has("skylake") {
        return Some("skylake");
    }
    if !has("xeon") {
        return None;
    }
    words.iter().find_map(|word| xeon(word))
}

/// The last digit of an EPYC's number is its generation, whatever letters a cloud put between.
fn amd(name: &str, words: &[&str]) -> Option<&'static str> {
    for (code, design) in
        [("rome", "zen2"), ("milan", "zen3"), ("genoa", "zen4"), ("turin", "zen5")]
    {
        if name.contains(code) {
            return Some(design);
        }
    }
    let number = words.iter().find(|word| {
        word.len() >= 4 && word.starts_with(|first: char| first.is_ascii_digit()) && !word.contains('-')
    });
    let Some(number) = number else { return Some("zen") };
    if name.contains("ryzen") {
        return Some(match number.as_bytes()[0] {
            b'3' => "zen2",
            b'5' => "zen3",
            b'7' | b'8' => "zen4",
            b'9' => "zen5",
            _ => "zen",
        });
    }
    let last = number.trim_end_matches(|end: char| end.is_ascii_alphabetic()).chars().last()?;
    Some(match last {
        '2' => "zen2",
        '3' => "zen3",
        '4' => "zen4",
        '5' => "zen5",
        _ => "zen",
    })
}

/// The second digit of a scalable Xeon is its generation: 8175M, 8259CL, 8370C, 8488C, 8573C; 6975P has two.
fn xeon(word: &str) -> Option<&'static str> {
    let digits: String = word.chars().take_while(char::is_ascii_digit).collect();
    if digits.len() != 4 || !digits.starts_with(['3', '4', '5', '6', '8']) {
        return None;
    }
    let suffix = &word[digits.len()..];
    if suffix.starts_with('p') && digits.starts_with('6') {
        return Some("granite-rapids");
    }
    match digits.as_bytes()[1] {
        b'1' => Some("skylake"),
        b'2' => Some("cascade-lake"),
        b'3' if suffix.starts_with('h') => Some("cooper-lake"),
        b'3' => Some("ice-lake"),
        b'4' => Some("sapphire-rapids"),
        b'5' => Some("emerald-rapids"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_clouds_are_read_by_the_makers_rules() {
        for (name, design) in [
            ("AMD EPYC 7R32", "zen2"),
            ("AMD EPYC 9V45 96-Core Processor", "zen5"),
            ("AMD EPYC 7443P 24-Core Processor", "zen3"),
            ("AMD EPYC-Genoa Processor", "zen4"),
            ("AMD EPYC Processor", "zen"),
            ("AMD Ryzen 9 7950X", "zen4"),
            ("Intel(R) Xeon(R) Platinum 8259CL CPU @ 2.50GHz", "cascade-lake"),
            ("Intel(R) Xeon(R) Platinum 8369HB CPU @ 3.30GHz", "cooper-lake"),
            ("INTEL(R) XEON(R) PLATINUM 8573C", "emerald-rapids"),
            ("Intel(R) Xeon(R) 6975P-C", "granite-rapids"),
            ("Intel(R) Xeon(R) CPU E5-2667 v4 @ 3.20GHz", "broadwell"),
            ("Neoverse-V2", "neoverse-v2"),
            ("Intel Core Processor (Haswell, no TSX)", "haswell"),
        ] {
            assert_eq!(by_name(&name.to_ascii_lowercase()), Some(design), "{name}");
        }
        assert_eq!(by_name("intel(r) xeon(r) cpu @ 2.20ghz"), None);
    }

    #[test]
    fn instructions_decide_where_a_name_says_nothing() {
        let amx = Instructions { amx: true, vnni: true, avx512: true, avx2: true, sve: false };
        let known = Traits::of("Intel(R) Xeon(R) Platinum 8488C", true, amx);
        assert_eq!(Traits::of("Intel(R) Xeon(R) CPU @ 2.70GHz", true, amx), known);
        assert!(Traits::of("?", true, Instructions::default()).operations < known.operations);
    }
}
