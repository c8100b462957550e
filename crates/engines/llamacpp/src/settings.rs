//! What a user may set of this engine, with `--set`.

use engine::{CacheFormat, EngineError, EngineErrorKind};
use types::EngineOptions;

/// The number format of the cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CacheType {
    pub(crate) name: &'static str,
    /// Its number in the library.
    pub(crate) number: u32,
    /// Numbers in a block, and the bytes of one.
    pub(crate) block: (u64, u64),
}

const DEFAULT: CacheType = CacheType { name: "f16", number: 1, block: (1, 2) };

const ALL: [CacheType; 8] = [
    DEFAULT,
    CacheType { name: "f32", number: 0, block: (1, 4) },
    CacheType { name: "bf16", number: 30, block: (1, 2) },
    CacheType { name: "q8_0", number: 8, block: (32, 34) },
    CacheType { name: "q5_1", number: 7, block: (32, 24) },
    CacheType { name: "q5_0", number: 6, block: (32, 22) },
    CacheType { name: "q4_1", number: 3, block: (32, 20) },
    CacheType { name: "q4_0", number: 2, block: (32, 18) },
];

/// Reads `cache=TYPE`, for keys and values alike; everything else is refused.
pub(crate) fn cache_type(options: &EngineOptions) -> Result<CacheType, EngineError> {
    let refused = |what: String| EngineError::new(EngineErrorKind::Unsupported, what);
    let rest = EngineOptions {
        allow_pickle: false,
        settings: std::collections::BTreeMap::new(),
        ..options.clone()
    };
    if !rest.is_default() {
        return Err(refused(format!("engine `llamacpp` has no option for `{rest}`")));
    }
    let mut found = DEFAULT;
    for (key, value) in &options.settings {
        let known = ALL.iter().find(|one| key == "cache" && one.name == value);
        found = *known.ok_or_else(|| {
            let names = ALL.map(|one| one.name).join(", ");
            refused(format!("engine `llamacpp` has no setting `{key}={value}`"))
                .with_hint(format!("`--set cache=TYPE` exists, with {names}"))
        })?;
    }
    Ok(found)
}

/// Every number format of the cache with what the engine is then told.
pub(crate) fn cache_formats(told: &EngineOptions) -> Vec<CacheFormat> {
    let format = |one: &CacheType| {
        let mut options = told.clone();
        options.settings.insert("cache".into(), one.name.into());
        let bytes = one.block.1 as f64 / one.block.0 as f64;
        CacheFormat { name: one.name.into(), bytes, options }
    };
    ALL.iter().map(format).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(key: &str, value: &str) -> Result<CacheType, EngineError> {
        let settings = [(key.to_owned(), value.to_owned())].into();
        cache_type(&EngineOptions { settings, ..EngineOptions::default() })
    }

    #[test]
    fn the_cache_has_16_bits_unless_the_user_says_otherwise() {
        assert_eq!(cache_type(&EngineOptions::default()).unwrap().name, "f16");
        assert_eq!(set("cache", "q8_0").unwrap().number, 8);
    }

    #[test]
    fn every_format_is_offered_with_the_setting_that_chooses_it() {
        let formats = cache_formats(&EngineOptions::default());
        assert_eq!(formats.len(), ALL.len());
        for format in formats {
            assert_eq!(cache_type(&format.options).unwrap().name, format.name);
        }
    }

    #[test]
    fn what_does_not_exist_is_refused_with_what_does() {
        for (key, value) in [("cache", "q3"), ("kv", "q8_0")] {
            let error = set(key, value).unwrap_err();
            assert!(error.to_string().contains(&format!("{key}={value}")), "{error}");
            assert!(error.hint.unwrap().contains("q8_0"));
        }
        let options = EngineOptions { inter_threads: Some(2), ..EngineOptions::default() };
        assert!(cache_type(&options).is_err());
    }
}
