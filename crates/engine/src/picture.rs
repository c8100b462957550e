//! Pictures: PNG and JPEG read, and brought to another size as Pillow does.

use std::io::{BufRead, Cursor, Seek};
use types::Filter;
use zune_jpeg::{
    JpegDecoder,
    zune_core::{bytestream::ZCursor, colorspace::ColorSpace, options::DecoderOptions},
};

/// The most bytes that one picture may take while it is unpacked.
const MOST_ROOM: usize = 512 << 20;

/// The longest side that is scaled: the weights of a longer one alone would take gigabytes.
const MOST_SIDE: usize = 1 << 20;

const COLOURS: usize = 3;

/// Red, green and blue, row by row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Picture {
    pub(crate) width: usize,
    pub(crate) height: usize,
    rgb: Vec<u8>,
}

enum Format {
    Png,
    Jpeg,
}

fn format(start: &[u8]) -> Result<Format, String> {
    match start {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Ok(Format::Png),
        [0xff, 0xd8, 0xff, ..] => Ok(Format::Jpeg),
        _ => Err("it is neither a PNG nor a JPEG file".into()),
    }
}

/// Height and width, as the header has them.
pub(crate) fn size(mut file: impl BufRead + Seek) -> Result<[usize; 2], String> {
    match format(file.fill_buf().map_err(text)?)? {
        Format::Png => {
            let mut decoder = png::Decoder::new(file);
            let header = decoder.read_header_info().map_err(text)?;
            Ok([header.height as usize, header.width as usize])
        }
        Format::Jpeg => {
            let mut decoder = JpegDecoder::new_with_options(file, tolerant());
            decoder.decode_headers().map_err(text)?;
            let (width, height) = decoder.dimensions().ok_or("it has no size")?;
            Ok([height, width])
        }
    }
}

fn text(error: impl ToString) -> String {
    error.to_string()
}

/// As most readers: what is damaged at the end is shown as far as it goes, and no size is too large.
fn tolerant() -> DecoderOptions {
    let options = DecoderOptions::default().set_strict_mode(false);
    options.set_max_width(usize::MAX).set_max_height(usize::MAX)
}

impl Picture {
    pub(crate) fn decode(bytes: &[u8]) -> Result<Picture, String> {
        match format(bytes)? {
            Format::Png => png(bytes),
            Format::Jpeg => jpeg(bytes),
        }
    }

    pub(crate) fn at(&self, row: usize, column: usize) -> &[u8] {
        let start = COLOURS * (row * self.width + column);
        &self.rgb[start..start + COLOURS]
    }

    /// Scaled to this size; rounded to whole levels after each direction, as Pillow does.
    pub(crate) fn resized(
        self,
        [height, width]: [usize; 2],
        filter: Filter,
    ) -> Result<Self, String> {
        let longest = self.width.max(self.height).max(width).max(height);
        if longest > MOST_SIDE {
            return Err(format!(
                "a side of {longest} pixels cannot be scaled; at most {MOST_SIDE}"
            ));
        }
        let mut picture = self;
        // Across first, unless what lies between would be larger than both pictures.
        let across_first = width.saturating_mul(picture.height) <= MOST_ROOM / 4;
        for across in [across_first, !across_first] {
            match across {
                true if width != picture.width => picture = picture.across(width, filter),
                false if height != picture.height => picture = picture.down(height, filter),
                _ => {}
            }
        }
        Ok(picture)
    }

    fn across(&self, width: usize, filter: Filter) -> Picture {
        let windows = windows(self.width, width, filter);
        let mut rgb = Vec::with_capacity(COLOURS * width * self.height);
        for row in self.rgb.chunks_exact(COLOURS * self.width) {
            for window in &windows {
                let mut sums = [0.5; COLOURS];
                let pixels = row[COLOURS * window.start..].chunks_exact(COLOURS);
                for (pixel, weight) in pixels.zip(&window.weights) {
                    for (sum, level) in sums.iter_mut().zip(pixel) {
                        *sum += f32::from(*level) * weight;
                    }
                }
                // A number outside a byte becomes its nearest end.
                rgb.extend(sums.map(|sum| sum as u8));
            }
        }
        Picture { width, height: self.height, rgb }
    }

    fn down(&self, height: usize, filter: Filter) -> Picture {
        let stride = COLOURS * self.width;
        let mut rgb = Vec::with_capacity(stride * height);
        let mut sums = vec![0.0; stride];
        for window in windows(self.height, height, filter) {
            sums.fill(0.5);
            let rows = self.rgb[stride * window.start..].chunks_exact(stride);
            for (row, weight) in rows.zip(window.weights) {
                for (sum, level) in sums.iter_mut().zip(row) {
                    *sum += f32::from(*level) * weight;
                }
            }
            rgb.extend(sums.iter().map(|sum| *sum as u8));
        }
        Picture { width: self.width, height, rgb }
    }
}

/// Which pixels make one, and with which weights.
struct Window {
    start: usize,
    weights: Vec<f32>,
}

fn windows(from: usize, to: usize, filter: Filter) -> Vec<Window> {
    let scale = from as f64 / to as f64;
    // A picture that shrinks is seen through a wider window, so that every pixel counts.
    let stretch = scale.max(1.0);
    let reach = reach(filter) * stretch;
    let window = |place: usize| {
        let centre = (place as f64 + 0.5) * scale;
        if filter == Filter::Nearest {
            return Window { start: (centre as usize).min(from - 1), weights: vec![1.0] };
        }
        let start = (centre - reach + 0.5).max(0.0) as usize;
        let end = ((centre + reach + 0.5) as usize).min(from);
        let weight = |pixel| weight(filter, (pixel as f64 - centre + 0.5) / stretch);
        let weights: Vec<f64> = (start..end).map(weight).collect();
        let sum: f64 = weights.iter().sum();
        Window { start, weights: weights.iter().map(|weight| (weight / sum) as f32).collect() }
    };
    (0..to).map(window).collect()
}

/// How many pixels on each side count.
fn reach(filter: Filter) -> f64 {
    match filter {
        Filter::Nearest => 0.0,
        Filter::Bilinear => 1.0,
        Filter::Bicubic => 2.0,
        Filter::Lanczos => 3.0,
    }
}

fn weight(filter: Filter, x: f64) -> f64 {
    let x = x.abs();
    if x >= reach(filter) {
        return 0.0;
    }
    match filter {
        Filter::Nearest => 1.0,
        Filter::Bilinear => 1.0 - x,
        // Catmull and Rom's curve.
        Filter::Bicubic if x < 1.0 => (1.5 * x - 2.5) * x * x + 1.0,
        Filter::Bicubic => ((2.5 - 0.5 * x) * x - 4.0) * x + 2.0,
        Filter::Lanczos => sinc(x) * sinc(x / 3.0),
    }
}

fn sinc(x: f64) -> f64 {
    let angle = x * std::f64::consts::PI;
    if angle == 0.0 { 1.0 } else { angle.sin() / angle }
}

fn png(bytes: &[u8]) -> Result<Picture, String> {
    let limits = png::Limits { bytes: MOST_ROOM };
    let mut decoder = png::Decoder::new_with_limits(Cursor::new(bytes), limits);
    decoder.set_ignore_text_chunk(true);
    decoder.set_ignore_iccp_chunk(true);
    decoder.set_transformations(png::Transformations::EXPAND);
    let mut reader = decoder.read_info().map_err(text)?;
    let room = reader.output_buffer_size().filter(|room| *room <= MOST_ROOM);
    let mut unpacked = vec![0; room.ok_or_else(too_large)?];
    let frame = reader.next_frame(&mut unpacked).map_err(text)?;
    let levels: Vec<u8> = match frame.bit_depth {
        png::BitDepth::Sixteen => unpacked.as_chunks().0.iter().map(|pair| byte(*pair)).collect(),
        _ => unpacked,
    };
    let [width, height] = [frame.width as usize, frame.height as usize];
    colours(width, height, &levels, frame.color_type.samples())
}

/// The nearest of 256 levels to one of 65,536.
fn byte(level: [u8; 2]) -> u8 {
    ((u32::from(u16::from_be_bytes(level)) + 128) / 257) as u8
}

fn jpeg(bytes: &[u8]) -> Result<Picture, String> {
    let mut decoder = JpegDecoder::new_with_options(ZCursor::new(bytes), tolerant());
    decoder.decode_headers().map_err(text)?;
    let (width, height) = decoder.dimensions().ok_or("it has no size")?;
    let wanted = match decoder.input_colorspace() {
        Some(ColorSpace::Luma) => ColorSpace::Luma,
        _ => ColorSpace::RGB,
    };
    decoder.set_options(tolerant().jpeg_set_out_colorspace(wanted));
    if decoder.output_buffer_size().is_none_or(|room| room > MOST_ROOM) {
        return Err(too_large());
    }
    let levels = decoder.decode().map_err(text)?;
    colours(width, height, &levels, wanted.num_components())
}

fn too_large() -> String {
    format!("it takes more than {MOST_ROOM} bytes when it is unpacked")
}

/// The picture of these levels, of which each pixel has one (grey) or three, and perhaps how opaque it is, which is left out.
fn colours(width: usize, height: usize, levels: &[u8], each: usize) -> Result<Picture, String> {
    let pixels = levels.chunks_exact(each);
    if pixels.len() != width * height {
        return Err(format!("it has {} pixels instead of {width}x{height}", pixels.len()));
    }
    let grey = each < COLOURS;
    let rgb =
        |pixel: &[u8]| if grey { [pixel[0]; COLOURS] } else { [pixel[0], pixel[1], pixel[2]] };
    Ok(Picture { width, height, rgb: pixels.flat_map(rgb).collect() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packed(colour: png::ColorType, depth: png::BitDepth, data: &[u8]) -> Vec<u8> {
        let mut file = Vec::new();
        let mut encoder = png::Encoder::new(&mut file, 2, 1);
        encoder.set_color(colour);
        encoder.set_depth(depth);
        if colour == png::ColorType::Indexed {
            encoder.set_palette(vec![1, 2, 3, 250, 251, 252]);
        }
        encoder.write_header().unwrap().write_image_data(data).unwrap();
        file
    }

    #[test]
    fn every_kind_of_png_becomes_three_colours() {
        use png::{BitDepth::*, ColorType::*};
        for (colour, depth, data, rgb) in [
            (Grayscale, Eight, &[7, 200][..], [7, 7, 7, 200, 200, 200]),
            (GrayscaleAlpha, Eight, &[7, 0, 200, 9], [7, 7, 7, 200, 200, 200]),
            (Rgb, Eight, &[1, 2, 3, 4, 5, 6], [1, 2, 3, 4, 5, 6]),
            (Rgba, Eight, &[1, 2, 3, 0, 4, 5, 6, 9], [1, 2, 3, 4, 5, 6]),
            (Indexed, One, &[0b0100_0000], [1, 2, 3, 250, 251, 252]),
            // 128 of 257 steps is nearer to the next level.
            (Grayscale, Sixteen, &[255, 255, 0, 129], [255, 255, 255, 1, 1, 1]),
        ] {
            let file = packed(colour, depth, data);
            let picture = Picture::decode(&file).unwrap();
            assert_eq!((picture.width, picture.height, picture.rgb), (2, 1, rgb.to_vec()));
            assert_eq!(size(Cursor::new(&file)).unwrap(), [1, 2]);
        }
    }

    #[test]
    fn what_is_no_picture_is_refused() {
        for bytes in [&b""[..], b"GIF89a", b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff\xe0"] {
            assert!(Picture::decode(bytes).is_err());
            assert!(size(Cursor::new(bytes)).is_err());
        }
        let file = packed(png::ColorType::Rgb, png::BitDepth::Eight, &[1, 2, 3, 4, 5, 6]);
        assert!(Picture::decode(&file[..file.len() - 20]).is_err());
    }

    #[test]
    fn an_even_picture_stays_even_and_a_narrow_one_takes_no_memory() {
        let even = Picture { width: 7, height: 5, rgb: vec![93; 7 * 5 * 3] };
        for filter in [Filter::Nearest, Filter::Bilinear, Filter::Bicubic, Filter::Lanczos] {
            for to in [[3, 11], [5, 2], [1, 1], [5, 7]] {
                let scaled = even.clone().resized(to, filter).unwrap();
                assert_eq!([scaled.height, scaled.width], to);
                assert_eq!(scaled.rgb, vec![93; 3 * to[0] * to[1]], "{filter:?} {to:?}");
            }
        }
        // Between the two directions lie a million pixels, not a million times a million.
        let high = Picture { width: 1, height: MOST_SIDE, rgb: vec![9; 3 * MOST_SIDE] };
        let wide = high.resized([1, MOST_SIDE], Filter::Bilinear).unwrap();
        assert_eq!(wide.rgb, vec![9; 3 * MOST_SIDE]);
        assert!(wide.resized([1, MOST_SIDE + 1], Filter::Bilinear).is_err());
    }

    #[test]
    fn the_nearest_pixel_is_one_of_the_picture() {
        let row = Picture { width: 4, height: 1, rgb: (0..12).collect() };
        let two = row.resized([1, 2], Filter::Nearest).unwrap();
        assert_eq!(two.rgb, [3, 4, 5, 9, 10, 11]);
    }
}
