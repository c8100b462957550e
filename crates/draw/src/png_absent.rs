//! Built without the feature `png`: pictures are SVG alone.

/// Why there is no PNG.
#[derive(Debug, thiserror::Error)]
#[error("this build makes no PNG: it lacks the feature `png`")]
pub struct PngError;

/// Paints nothing.
///
/// # Errors
/// Always.
pub fn png(_svg: &str, _scale: f32) -> Result<Vec<u8>, PngError> {
    Err(PngError)
}
