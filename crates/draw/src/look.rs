//! The one look: colours of both themes, sizes of words.
//!
//! Series have the colours that Okabe and Ito chose for every kind of sight, darkened for white paper and lightened for a
//! dark one until they stand out. No colour says anything alone: rows have names, lines have labels, formats have shapes.

/// Dark words on light paper, or the other way round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Theme {
    /// Dark words on white.
    Light,
    /// Light words on a dark background.
    Dark,
}

impl Theme {
    /// Both of them.
    pub const ALL: [Theme; 2] = [Theme::Light, Theme::Dark];

    /// The name used in file names and on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Theme::Light => "light",
            Theme::Dark => "dark",
        }
    }

    pub(crate) fn look(self) -> &'static Look {
        match self {
            Theme::Light => &LIGHT,
            Theme::Dark => &DARK,
        }
    }
}

/// A colour as the screen mixes it.
pub(crate) type Colour = (u8, u8, u8);

/// The colours of a theme.
#[derive(Debug)]
pub(crate) struct Look {
    pub(crate) background: Colour,
    /// Behind the plot.
    pub(crate) panel: Colour,
    pub(crate) text: Colour,
    pub(crate) muted: Colour,
    /// Lines that only guide the eye.
    pub(crate) grid: Colour,
    pub(crate) axis: Colour,
    /// Told apart by every kind of sight; more series begin again.
    pub(crate) series: [Colour; 6],
    /// From least to most.
    pub(crate) heat: [Colour; 2],
}

const LIGHT: Look = Look {
    background: (0xff, 0xff, 0xff),
    panel: (0xf7, 0xf8, 0xfa),
    text: (0x1b, 0x1f, 0x24),
    muted: (0x57, 0x60, 0x6a),
    grid: (0xdf, 0xe3, 0xe8),
    axis: (0x8c, 0x95, 0x9f),
    series: [
        (0x00, 0x72, 0xb2),
        (0xd5, 0x5e, 0x00),
        (0x00, 0x80, 0x5c),
        (0xa3, 0x4a, 0x84),
        (0x8a, 0x6a, 0x00),
        (0x4b, 0x55, 0x63),
    ],
    heat: [(0xe6, 0xf0, 0xf8), (0x00, 0x57, 0x8a)],
};

const DARK: Look = Look {
    background: (0x12, 0x16, 0x1c),
    panel: (0x19, 0x1e, 0x26),
    text: (0xec, 0xf0, 0xf4),
    muted: (0xa4, 0xae, 0xba),
    grid: (0x2c, 0x34, 0x3e),
    axis: (0x6b, 0x77, 0x85),
    series: [
        (0x56, 0xb4, 0xe9),
        (0xf0, 0x8a, 0x4b),
        (0x35, 0xc7, 0x94),
        (0xe5, 0x93, 0xc4),
        (0xe8, 0xd2, 0x4a),
        (0xb4, 0xbe, 0xca),
    ],
    heat: [(0x1d, 0x2b, 0x38), (0x7c, 0xc8, 0xf2)],
};

impl Look {
    /// The colour of the series with this number.
    pub(crate) fn series(&self, number: usize) -> Colour {
        self.series[number % self.series.len()]
    }

    /// The colour of a share from 0 to 1.
    pub(crate) fn heat(&self, share: f64) -> Colour {
        mix(self.heat[0], self.heat[1], share)
    }

    /// Words on a background of this colour: black or white, whichever can be read better. One of them always can.
    pub(crate) fn on(&self, background: Colour) -> Colour {
        const INKS: [Colour; 2] = [(0x00, 0x00, 0x00), (0xff, 0xff, 0xff)];
        let [dark, light] = INKS;
        if contrast(dark, background) >= contrast(light, background) { dark } else { light }
    }
}

/// What every colour of a theme is called in a style sheet, and what it is.
fn names(look: &Look) -> Vec<(String, Colour)> {
    let mut all = vec![
        ("background".to_owned(), look.background),
        ("panel".to_owned(), look.panel),
        ("text".to_owned(), look.text),
        ("muted".to_owned(), look.muted),
        ("grid".to_owned(), look.grid),
        ("axis".to_owned(), look.axis),
    ];
    let series = look.series.iter().zip(1..);
    all.extend(series.map(|(colour, number)| (format!("series-{number}"), *colour)));
    all
}

/// The colours of a theme as declarations of a style sheet: `--background:#ffffff;…`.
#[must_use]
pub fn variables(theme: Theme) -> String {
    let declare = |(name, (red, green, blue)): (String, Colour)| {
        format!("--{name}:#{red:02x}{green:02x}{blue:02x};")
    };
    names(theme.look()).into_iter().map(declare).collect()
}

/// A light picture whose colours are those of the style sheet around it, so that one picture serves both themes.
///
/// Colours that no theme names, such as those between two of them, stay as they are.
#[must_use]
pub fn with_variables(light: &str) -> String {
    names(&LIGHT).into_iter().fold(light.to_owned(), |text, (name, (red, green, blue))| {
        // Quotes in words are escaped, so that this can only be an attribute.
        let written = format!("=\"#{red:02x}{green:02x}{blue:02x}\"");
        text.replace(&written, &format!("=\"var(--{name})\""))
    })
}

/// So much of the second colour in the first.
pub(crate) fn mix(first: Colour, second: Colour, share: f64) -> Colour {
    let share = if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 };
    let part = |from: u8, to: u8| {
        (f64::from(from) + (f64::from(to) - f64::from(from)) * share).round() as u8
    };
    (part(first.0, second.0), part(first.1, second.1), part(first.2, second.2))
}

/// How far two colours stand apart in lightness, from 1 to 21, as the Web Content Accessibility Guidelines define it.
pub(crate) fn contrast(one: Colour, other: Colour) -> f64 {
    let (one, other) = (luminance(one), luminance(other));
    (one.max(other) + 0.05) / (one.min(other) + 0.05)
}

fn luminance((red, green, blue): Colour) -> f64 {
    let linear = |part: u8| {
        let part = f64::from(part) / 255.0;
        if part <= 0.04045 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
    };
    0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn black_and_white_stand_farthest_apart() {
        assert!((contrast((0, 0, 0), (255, 255, 255)) - 21.0).abs() < 1e-9);
        assert!((contrast((9, 9, 9), (9, 9, 9)) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn words_can_be_read_and_marks_can_be_seen_in_both_themes() {
        for theme in Theme::ALL {
            let look = theme.look();
            for background in [look.background, look.panel] {
                for words in [look.text, look.muted] {
                    assert!(contrast(words, background) >= 4.5, "{theme:?} {words:?}");
                }
                for series in look.series {
                    assert!(contrast(series, background) >= 3.0, "{theme:?} {series:?}");
                }
            }
        }
    }

    #[test]
    fn words_on_every_heat_can_be_read() {
        for theme in Theme::ALL {
            let look = theme.look();
            for step in 0..=100 {
                let background = look.heat(f64::from(step) / 100.0);
                assert!(contrast(look.on(background), background) >= 4.5, "{theme:?} {step} %");
            }
        }
    }

    #[test]
    fn every_colour_of_a_light_picture_becomes_a_variable_that_both_themes_have() {
        let svg = with_variables("<rect fill=\"#ffffff\" stroke=\"#0072b2\"/><text>#ffffff</text>");
        assert_eq!(
            svg,
            "<rect fill=\"var(--background)\" stroke=\"var(--series-1)\"/><text>#ffffff</text>"
        );
        for theme in Theme::ALL {
            let declared = variables(theme);
            assert_eq!(declared.matches("--").count(), 12);
            assert!(declared.contains("--series-6:#") && declared.ends_with(';'));
        }
    }

    #[test]
    fn a_share_that_is_no_number_is_none() {
        let look = Theme::Light.look();
        assert_eq!(look.heat(f64::NAN), look.heat[0]);
        assert_eq!(look.heat(7.0), look.heat[1]);
    }
}
