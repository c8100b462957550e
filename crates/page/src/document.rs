//! The document around everything: what it may load (nothing), its style, its script.

use crate::html::Html;
use base64::{Engine, engine::general_purpose::STANDARD};
use draw::Theme;
use sha2::{Digest, Sha256};

const STYLE: &str = include_str!("look.css");
/// The script of every page. Whoever changes a page while it shows sends the event `modelmeter:changed` to the document.
pub const SCRIPT: &str = include_str!("zoom.js");

/// The whole document around a title and a body.
pub(crate) fn document(title: &str, body: Html) -> String {
    let style = style();
    let policy = format!(
        "default-src 'none'; style-src 'sha256-{}'; script-src 'sha256-{}'; base-uri 'none'; form-action 'none'",
        hash(style.as_str()),
        hash(SCRIPT)
    );
    let mut html = Html::default();
    html.raw("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    html.open("meta", &[("http-equiv", "Content-Security-Policy"), ("content", &policy)]);
    html.raw("\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    html.raw("<meta name=\"color-scheme\" content=\"light dark\">\n");
    html.raw("<meta name=\"referrer\" content=\"no-referrer\">\n");
    let generator = concat!("modelmeter ", env!("CARGO_PKG_VERSION"));
    html.open("meta", &[("name", "generator"), ("content", generator)]);
    html.raw("\n");
    html.element("title", &[], &format!("{title} · Modelmeter"));
    html.raw("\n<style>");
    html.append(style);
    html.raw(
        "</style>\n</head>\n<body>\n<a class=\"skip\" href=\"#numbers\">Skip to the numbers</a>\n",
    );
    html.raw("<header class=\"top\"><p class=\"brand\"><span aria-hidden=\"true\">◔</span> Modelmeter</p>");
    // The script puts the choice of the theme here.
    html.raw("<div id=\"tools\"></div></header>\n");
    html.append(body);
    html.raw("<script>");
    html.raw(SCRIPT);
    html.raw("</script>\n</body>\n</html>\n");
    html.finish()
}

/// The style sheet of every page.
#[must_use]
pub fn style_sheet() -> String {
    style().finish()
}

/// The style sheet: the colours of the pictures, then everything else.
fn style() -> Html {
    let mut html = Html::default();
    html.raw(":root{");
    html.colours(Theme::Light);
    html.raw("}@media screen{:root[data-theme=dark]{");
    html.colours(Theme::Dark);
    html.raw("}}@media screen and (prefers-color-scheme:dark){:root:not([data-theme=light]){");
    html.colours(Theme::Dark);
    html.raw("}}\n");
    html.raw(STYLE);
    html
}

fn hash(text: &str) -> String {
    STANDARD.encode(Sha256::digest(text.as_bytes()))
}
