//! Our SVG as PNG, with the font that is carried along and no other.

use crate::font::FONTS;
use resvg::{tiny_skia, usvg};
use std::sync::{Arc, OnceLock};

/// Why there is no PNG.
#[derive(Debug, thiserror::Error)]
pub enum PngError {
    /// The text is no SVG.
    #[error("the picture cannot be read")]
    Read(#[source] usvg::Error),
    /// It has no size, or too much of it.
    #[error("a picture of {width} × {height} points cannot be painted at scale {scale}")]
    Size {
        /// Points across.
        width: f32,
        /// Points down.
        height: f32,
        /// Pixels a point.
        scale: f32,
    },
    /// It could not be packed.
    #[error("the picture cannot be packed: {0}")]
    Pack(String),
}

/// Paints an SVG with so many pixels a point.
///
/// # Errors
/// Where the text is no SVG, or the picture would be larger than memory allows.
pub fn png(svg: &str, scale: f32) -> Result<Vec<u8>, PngError> {
    let options = usvg::Options {
        fontdb: fonts(),
        font_family: "Noto Sans".into(),
        ..usvg::Options::default()
    };
    let tree = usvg::Tree::from_str(svg, &options).map_err(PngError::Read)?;
    let size = tree.size();
    let (width, height) = (size.width(), size.height());
    let wrong = || PngError::Size { width, height, scale };
    let pixels = |points: f32| (points * scale).ceil();
    // 20,000 pixels across and down are more than any screen and less than two gigabytes.
    if !(1.0..20_000.0).contains(&pixels(width)) || !(1.0..20_000.0).contains(&pixels(height)) {
        return Err(wrong());
    }
    let mut paper =
        tiny_skia::Pixmap::new(pixels(width) as u32, pixels(height) as u32).ok_or_else(wrong)?;
    resvg::render(&tree, tiny_skia::Transform::from_scale(scale, scale), &mut paper.as_mut());
    paper.encode_png().map_err(|error| PngError::Pack(error.to_string()))
}

fn fonts() -> Arc<usvg::fontdb::Database> {
    static LOADED: OnceLock<Arc<usvg::fontdb::Database>> = OnceLock::new();
    let load = || {
        let mut fonts = usvg::fontdb::Database::new();
        for font in FONTS {
            fonts.load_font_data(font.to_vec());
        }
        fonts.set_sans_serif_family("Noto Sans");
        Arc::new(fonts)
    };
    LOADED.get_or_init(load).clone()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_svg_is_refused() {
        assert!(matches!(png("<svg", 1.0), Err(PngError::Read(_))));
        let large = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"1000000\" height=\"9\"/>";
        assert!(matches!(png(large, 2.0), Err(PngError::Size { .. })));
    }
}
