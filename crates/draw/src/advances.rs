//! How wide the characters of a TrueType font are: of its tables only those that say so are read.

/// A font, and where its tables begin.
pub(crate) struct Advances {
    font: &'static [u8],
    /// Segments of characters in a row.
    characters: usize,
    widths: usize,
    /// The first so many glyphs have a width of their own, the others that of the last one.
    own_widths: usize,
    units: f64,
}

impl Advances {
    /// `None` if the font is not one of the plain kind.
    pub(crate) fn of(font: &'static [u8]) -> Option<Advances> {
        let table = |tag: &[u8; 4]| {
            let tables = font.get(12..)?.chunks_exact(16).take(usize::from(short(font, 4)?));
            let found = tables.into_iter().find(|entry| entry[..4] == tag[..])?;
            usize::try_from(u32::from_be_bytes(found[8..12].try_into().ok()?)).ok()
        };
        let map = table(b"cmap")?;
        let kinds = (0..usize::from(short(font, map + 2)?)).map(|kind| map + 4 + 8 * kind);
        let unicode = kinds.into_iter().find_map(|entry| {
            let is_unicode = (short(font, entry)?, short(font, entry + 2)?) == (3, 1);
            let place = font.get(entry + 4..entry + 8)?;
            let subtable = map + u32::from_be_bytes(place.try_into().ok()?) as usize;
            (is_unicode && short(font, subtable)? == 4).then_some(subtable)
        });
        Some(Advances {
            font,
            characters: unicode?,
            widths: table(b"hmtx")?,
            own_widths: usize::from(short(font, table(b"hhea")? + 34)?),
            units: f64::from(short(font, table(b"head")? + 18)?),
        })
    }

    /// The advance of a character for a size of 1; `None` if the font does not have it.
    pub(crate) fn find(&self, character: char) -> Option<f64> {
        let glyph = self.glyph(u16::try_from(u32::from(character)).ok()?)?;
        let place = glyph.min(self.own_widths.checked_sub(1)?);
        Some(f64::from(short(self.font, self.widths + 4 * place)?) / self.units)
    }

    fn glyph(&self, code: u16) -> Option<usize> {
        let twice = usize::from(short(self.font, self.characters + 6)?);
        let ends = self.characters + 14;
        let begins = ends + twice + 2;
        let (shifts, places) = (begins + twice, begins + 2 * twice);
        for segment in (0..twice).step_by(2) {
            if short(self.font, ends + segment)? < code {
                continue;
            }
            let begin = short(self.font, begins + segment)?;
            let within = code.checked_sub(begin)?;
            let shift = short(self.font, shifts + segment)?;
            let place = places + segment;
            let glyph = match short(self.font, place)? {
                0 => code.wrapping_add(shift),
                offset => {
                    let listed = place + usize::from(offset) + 2 * usize::from(within);
                    match short(self.font, listed)? {
                        0 => 0,
                        glyph => glyph.wrapping_add(shift),
                    }
                }
            };
            return Some(usize::from(glyph)).filter(|glyph| *glyph > 0);
        }
        None
    }
}

fn short(font: &[u8], place: usize) -> Option<u16> {
    let bytes = font.get(place..place + 2)?;
    Some(u16::from_be_bytes([bytes[0], bytes[1]]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use skrifa::{FontRef, MetadataProvider, instance::LocationRef, instance::Size};

    #[test]
    fn every_character_is_as_wide_as_another_reader_of_fonts_says() {
        for font in crate::font::FONTS {
            let ours = Advances::of(font).unwrap();
            let theirs = FontRef::new(font).unwrap();
            let widths = theirs.glyph_metrics(Size::new(1.0), LocationRef::default());
            let mut known = 0;
            for character in (0..=0xffff).filter_map(char::from_u32) {
                let glyph = theirs.charmap().map(character).filter(|glyph| glyph.to_u32() > 0);
                let width = glyph.and_then(|glyph| widths.advance_width(glyph)).map(f64::from);
                match (ours.find(character), width) {
                    (Some(ours), Some(theirs)) => {
                        assert!((ours - theirs).abs() < 1e-6, "{character}")
                    }
                    (ours, theirs) => assert_eq!(ours, theirs, "{character}"),
                }
                known += usize::from(width.is_some());
            }
            assert!(known > 2000, "{known}");
        }
    }

    #[test]
    fn what_is_no_font_is_refused() {
        assert!(Advances::of(b"").is_none());
        assert!(Advances::of(b"\0\x01\0\0\0\x09 no tables follow").is_none());
    }
}
