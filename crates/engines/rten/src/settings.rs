//! What a user may set of this engine, with `--set`.

use engine::{EngineError, EngineErrorKind};
use types::{EngineOptions, Remark, RemarkCode};

/// Whether weights are copied once, at load, into the order in which the engine's products read them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Packing {
    /// Faster, for a second copy of the weights of products and a longer load.
    On,
    /// The engine as it comes: every product packs what it reads, at every inference.
    Off,
}

/// The settings of one load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Settings {
    pub(crate) packing: Packing,
}

impl Settings {
    /// Reads `KEY=VALUE`; what nobody set is what measured best.
    pub(crate) fn read(options: &EngineOptions) -> Result<Settings, EngineError> {
        let mut settings = Settings { packing: Packing::On };
        for (key, value) in &options.settings {
            match (key.as_str(), value.as_str()) {
                ("packing", "on") => settings.packing = Packing::On,
                ("packing", "off") => settings.packing = Packing::Off,
                // Whoever draws the graph reads it.
                (engine::DECODER, engine::DECODER_STANDARD | engine::DECODER_FUSED) => {}
                _ => {
                    return Err(EngineError::new(
                        EngineErrorKind::Unsupported,
                        format!("engine `rten` has no setting `{key}={value}`"),
                    )
                    .with_hint("`--set packing=on`, `--set packing=off`, `--set decoder=standard` and `--set decoder=fused` exist"));
                }
            }
        }
        Ok(settings)
    }

    /// What of it belongs into the placement.
    pub(crate) fn words(self) -> &'static str {
        match self.packing {
            Packing::On => ", packed",
            Packing::Off => "",
        }
    }
}

/// Options of other engines, which change nothing here.
pub(crate) fn idle(options: &EngineOptions) -> Vec<Remark> {
    let idle = [
        (options.graph_optimisation.is_some(), "a level of graph optimisation"),
        (options.inter_threads.is_some(), "threads between operators"),
        (options.hint.is_some(), "a performance hint"),
        (options.compile.is_some(), "a compilation mode"),
    ];
    let remark = |what: &str| {
        let text = format!("rten does not have {what}; the setting had no effect");
        Remark::new(RemarkCode::OptionWithoutEffect, text)
    };
    idle.iter().filter(|(said, _)| *said).map(|(_, what)| remark(what)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(key: &str, value: &str) -> Result<Settings, EngineError> {
        let settings = [(key.to_owned(), value.to_owned())].into();
        Settings::read(&EngineOptions { settings, ..EngineOptions::default() })
    }

    #[test]
    fn weights_are_packed_by_default_and_not_where_the_user_says_so() {
        assert_eq!(Settings::read(&EngineOptions::default()).unwrap().words(), ", packed");
        assert_eq!(read("packing", "on").unwrap().packing, Packing::On);
        assert_eq!(read("packing", "off").unwrap().words(), "");
    }

    #[test]
    fn what_does_not_exist_is_refused_with_what_does() {
        for (key, value) in [("packing", "maybe"), ("pack", "on")] {
            let error = read(key, value).unwrap_err();
            assert!(error.to_string().contains(&format!("{key}={value}")), "{error}");
            assert!(error.hint.unwrap().contains("--set packing=off"));
        }
    }

    #[test]
    fn options_of_other_engines_are_remarked() {
        assert_eq!(idle(&EngineOptions::default()), []);
        let options = EngineOptions { inter_threads: Some(2), ..EngineOptions::default() };
        let [remark] = idle(&options).try_into().unwrap();
        assert_eq!(remark.code, RemarkCode::OptionWithoutEffect);
        assert!(remark.text.contains("threads between operators"));
    }
}
