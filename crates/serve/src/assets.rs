//! The style and the script, under names that change with what is in them.

use crate::{answer::Answer, token::hex};
use sha2::{Digest, Sha256};

/// The style and the script.
#[derive(Debug)]
pub(crate) struct Assets {
    style: String,
    script: String,
    pub(crate) style_name: String,
    pub(crate) script_name: String,
}

impl Assets {
    pub(crate) fn new() -> Assets {
        let style = page::style_sheet() + include_str!("serve.css");
        let script = format!("{}{}{}", page::SCRIPT, draw::FLAME_SCRIPT, include_str!("serve.js"));
        let name = |text: &str, ending: &str| {
            format!("{}.{ending}", &hex(&Sha256::digest(text.as_bytes()))[..16])
        };
        Assets { style_name: name(&style, "css"), script_name: name(&script, "js"), style, script }
    }

    pub(crate) fn find(&self, name: &str) -> Option<Answer> {
        let (kind, text) = match name {
            _ if name == self.style_name => ("text/css; charset=utf-8", &self.style),
            _ if name == self.script_name => ("text/javascript; charset=utf-8", &self.script),
            _ => return None,
        };
        Some(Answer { is_fixed: true, ..Answer::new(kind, text.clone()) })
    }
}
