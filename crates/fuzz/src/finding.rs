//! What did not end in an answer.

/// A case that did not end in an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The target.
    pub target: &'static str,
    /// The seed and the number of the case; 0 for a kept file.
    pub seed: u64,
    /// The number of the case.
    pub case: u64,
    /// Where and how.
    pub what: String,
    /// Why it is expected, where it is.
    pub expected: Option<&'static str>,
}

impl Finding {
    /// What all cases of one fault have in common: the place of a panic, else the kind.
    #[must_use]
    pub fn key(&self) -> String {
        let place = crate::panics::place(&self.what);
        place.chars().filter(|letter| !letter.is_control()).take(120).collect()
    }

    /// A file name for the case: the place in it, so that findings of one place have one name.
    #[must_use]
    pub fn file_name(&self) -> String {
        let key = self.key();
        let tail: Vec<&str> = key.rsplit('/').take(2).collect();
        let name: Vec<&str> = tail.into_iter().rev().collect();
        let plain = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '-' };
        let name: String = name.join("-").chars().map(plain).take(60).collect();
        format!("{}-{}-{}", name.trim_matches('-'), self.seed, self.case)
    }
}
