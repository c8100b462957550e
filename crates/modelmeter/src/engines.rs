//! The engines, one line each, and the value in which a list of engines is handed to whoever needs one.

use crate::Error;
use engine::Engine;
use std::fmt;

/// Every engine this build knows, in the order in which `auto` tries them: what was fastest on a CPU comes first, what
/// takes seconds to start last.
pub const ENGINES: &[&dyn Engine] = &[
    &engine_onnxruntime::OnnxRuntime,
    &engine_openvino::OpenVino,
    #[cfg(feature = "rten")]
    &engine_rten::Rten,
    &engine_torch::Torch,
    &engine_llamacpp::LlamaCpp,
    &engine_browser::Browser,
];

/// The engines that may be chosen from, in the order in which `auto` tries them; [`ENGINES`] by default.
#[derive(Clone, Copy)]
pub struct Engines(&'static [&'static dyn Engine]);

impl Default for Engines {
    fn default() -> Engines {
        Engines(ENGINES)
    }
}

impl fmt::Debug for Engines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter().map(Engine::id)).finish()
    }
}

impl Engines {
    /// These engines and no others.
    #[must_use]
    pub const fn of(list: &'static [&'static dyn Engine]) -> Engines {
        Engines(list)
    }

    /// Each of them, in order.
    pub fn iter(self) -> impl Iterator<Item = &'static dyn Engine> {
        self.0.iter().copied()
    }

    /// Their ids.
    #[must_use]
    pub fn ids(self) -> Vec<String> {
        self.iter().map(|engine| engine.id().to_owned()).collect()
    }

    /// The engine with this id or alias, in any case.
    #[must_use]
    pub fn find(self, name: &str) -> Option<&'static dyn Engine> {
        let is_id = |engine: &&'static dyn Engine| engine.id().eq_ignore_ascii_case(name);
        let is_alias = |engine: &&'static dyn Engine| {
            engine.aliases().iter().any(|alias| alias.eq_ignore_ascii_case(name))
        };
        self.iter().find(is_id).or_else(|| self.iter().find(is_alias))
    }

    /// The same, which must be there.
    ///
    /// # Errors
    /// When no engine is called so.
    pub fn require(self, name: &str) -> Result<&'static dyn Engine, Error> {
        let unknown = || Error::UnknownEngine { id: name.to_owned(), known: self.ids() };
        self.find(name).ok_or_else(unknown)
    }

    /// The engine that is part of this program.
    #[must_use]
    pub fn embedded(self) -> Option<&'static dyn Engine> {
        self.iter().find(|engine| engine.is_embedded())
    }

    /// The engine that others are compared with by default.
    #[must_use]
    pub fn reference(self) -> Option<&'static dyn Engine> {
        self.iter().find(|engine| engine.is_reference())
    }

    pub(crate) fn list(self) -> &'static [&'static dyn Engine] {
        self.0
    }
}

/// The id of the engine that a name stands for; a name that no engine has stays as it is.
#[must_use]
pub fn engine_id(name: &str) -> &str {
    Engines::default().find(name).map_or(name, |engine| engine.id())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_engine_is_found_by_its_id_and_its_aliases_and_no_name_means_two() {
        let mut names: Vec<&str> = Vec::new();
        for engine in ENGINES {
            for &name in engine.aliases().iter().chain([&engine.id()]) {
                assert_eq!(engine_id(&name.to_uppercase()), engine.id());
                assert!(!names.contains(&name), "{name}");
                names.push(name);
            }
        }
        assert_eq!(engine_id("abacus"), "abacus");
        let Err(Error::UnknownEngine { id, known }) = Engines::default().require("abacus") else {
            panic!("there is no abacus")
        };
        assert_eq!((id.as_str(), known.len()), ("abacus", ENGINES.len()));
    }

    #[test]
    fn one_engine_is_embedded_and_one_is_the_reference() {
        assert_eq!(ENGINES.iter().filter(|engine| engine.is_embedded()).count(), 1);
        assert_eq!(ENGINES.iter().filter(|engine| engine.is_reference()).count(), 1);
        assert!(Engines::of(&[]).embedded().is_none() && Engines::of(&[]).reference().is_none());
    }
}
