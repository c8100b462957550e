//! Pictures and recordings, and what a folder says of how they are made ready.

use super::put;
use crate::{
    Outcome, Target, mutate,
    target::{ROOM, Reader},
};
use engine::Media;
use models::Preprocessor;
use std::path::{Path, PathBuf};
use types::{
    ElementType, Fill, Filter, ImageRecipe, InputRole, InputSpec, MediaJob, MediaRecipe, Resize,
    SoundRecipe, SpectrogramRecipe,
};

const PREPROCESSORS: [&str; 3] = [
    r#"{"do_resize":true,"size":{"height":8,"width":8},"resample":3,"do_center_crop":true,
        "crop_size":{"height":8,"width":8},"do_rescale":true,"rescale_factor":0.00392156862745098,"do_normalize":true,
        "image_mean":[0.5,0.5,0.5],"image_std":[0.5,0.5,0.5]}"#,
    r#"{"do_resize":true,"size":{"shortest_edge":8},"resample":2,"do_center_crop":true,"crop_size":8,
        "do_normalize":false,"image_mean":[0.5],"image_std":[0,0,0]}"#,
    r#"{"feature_extractor_type":"WhisperFeatureExtractor","sampling_rate":16000,"n_fft":400,"hop_length":160,
        "feature_size":4,"do_normalize":true,"size":8}"#,
];

/// `preprocessor_config.json`, and a picture and a recording made ready as it says.
pub(crate) const PREPROCESSOR: Target = Target {
    name: "preprocessor",
    what: "`preprocessor_config.json`, and files made ready as it says",
    // Pictures of many millions of pixels take a while to be made.
    one_of: 20,
    // A picture of 8192 by 8192 pixels is 800 MB of floats.
    room: 1536 << 20,
    seeds: || PREPROCESSORS.map(|text| text.as_bytes().to_vec()).into(),
    mutate: mutate::json,
    open: || -> Reader {
        let folder = super::folder();
        let picture = put(&folder, "x.png", &picture());
        let sound = put(&folder, "x.wav", &recording(16, 1));
        Box::new(move |bytes| {
            let path = put(&folder, "preprocessor_config.json", bytes);
            let read = Preprocessor::read(&path);
            if let Ok(preprocessor) = &read {
                let image = preprocessor.image([8, 8], bytes.len().is_multiple_of(2));
                let size = engine::size_of(&image, [6, 5]);
                make(MediaRecipe::Image(image.clone()), &picture, &[1, 3, 8, 8]);
                if size.iter().all(|side| *side < 64) {
                    make(MediaRecipe::Image(image), &picture, &[1, 3, size[0], size[1]]);
                }
                make(MediaRecipe::Sound(preprocessor.sound()), &sound, &[1, 400]);
                if let Some(recipe) = preprocessor.spectrogram(4, 20) {
                    make(MediaRecipe::Spectrogram(recipe), &sound, &[1, 4, 20]);
                }
            }
            Outcome::from(&read)
        })
    },
    expected: &[],
};

/// Pictures.
pub(crate) const PICTURE: Target = Target {
    name: "picture",
    what: "pictures",
    one_of: 1,
    // The library decodes up to half a gigabyte, and colours are brought to bytes after that.
    room: 1 << 30,
    seeds: || vec![picture()],
    mutate: mutate::image,
    open: || -> Reader {
        let folder = super::folder();
        let recipe = MediaRecipe::Image(ImageRecipe {
            resize: Some(Resize::Shortest { edge: 8 }),
            filter: Filter::Bilinear,
            crop: Some([8, 8]),
            rescale: 1.0 / 255.0,
            mean: [0.5; 3],
            std: [0.5; 3],
            channels_last: false,
        });
        Box::new(move |bytes| {
            let path = put(&folder, "x.png", bytes);
            let _ = engine::picture_size(&path);
            make(recipe.clone(), &path, &[1, 3, 8, 8])
        })
    },
    expected: &[],
};

/// Recordings.
pub(crate) const RECORDING: Target = Target {
    name: "recording",
    what: "recordings",
    one_of: 1,
    room: ROOM,
    seeds: || vec![recording(16, 1), recording(16, 2), recording(8, 1), recording(32, 1)],
    mutate: mutate::bytes,
    open: || -> Reader {
        let folder = super::folder();
        let spectrogram =
            SpectrogramRecipe { rate: 16_000, bands: 4, frames: 10, window: 40, hop: 16 };
        Box::new(move |bytes| {
            let path = put(&folder, "x.wav", bytes);
            let _ = engine::sound_length(&path);
            let sound = SoundRecipe { rate: 16_000, normalize: true };
            make(MediaRecipe::Sound(sound), &path, &[1, 4_000]);
            make(MediaRecipe::Spectrogram(spectrogram.clone()), &path, &[1, 4, 10])
        })
    },
    expected: &[],
};

/// Makes an input of one file; it has as many numbers as its shape says.
fn make(recipe: MediaRecipe, file: &Path, dims: &[usize]) -> Outcome {
    let spec = InputSpec {
        name: "x".into(),
        dtype: ElementType::F32,
        dims: dims.to_vec(),
        role: InputRole::Other,
        fill: Fill::Positions,
    };
    let job = MediaJob { input: "x".into(), files: vec![PathBuf::from(file)], recipe };
    let Ok(media) = Media::open(&job, &[spec]) else { return Outcome::Refused };
    let made = media.make();
    if let Ok(tensor) = &made {
        assert_eq!(tensor.elements.len(), dims.iter().product::<usize>());
    }
    Outcome::from(&made)
}

/// A PNG of 5 by 6 pixels, stored without compression.
fn picture() -> Vec<u8> {
    const SIDES: [usize; 2] = [5, 6];
    let row: Vec<u8> = std::iter::once(0).chain((0..SIDES[0] * 3).map(|at| at as u8 * 9)).collect();
    let pixels = row.repeat(SIDES[1]);
    let (mut low, mut high) = (1_u32, 0_u32);
    for byte in &pixels {
        low = (low + u32::from(*byte)) % 65_521;
        high = (high + low) % 65_521;
    }
    let length = pixels.len() as u16;
    let packed = [
        &[0x78, 0x01, 0x01][..],
        &length.to_le_bytes(),
        &(!length).to_le_bytes(),
        &pixels,
        &(high << 16 | low).to_be_bytes(),
    ]
    .concat();
    let head =
        [&(SIDES[0] as u32).to_be_bytes()[..], &(SIDES[1] as u32).to_be_bytes(), &[8, 2, 0, 0, 0]]
            .concat();
    let chunk = |kind: &[u8], content: &[u8]| {
        let named = [kind, content].concat();
        let sum = mutate::checksum(&named).to_be_bytes();
        [&(content.len() as u32).to_be_bytes()[..], &named, &sum].concat()
    };
    let parts = [chunk(b"IHDR", &head), chunk(b"IDAT", &packed), chunk(b"IEND", b"")].concat();
    [b"\x89PNG\r\n\x1a\n".to_vec(), parts].concat()
}

/// A WAV file of 64 samples at 16 kHz.
fn recording(bits: u16, channels: u16) -> Vec<u8> {
    let frame = bits / 8 * channels;
    let data: Vec<u8> = (0..64 * usize::from(frame)).map(|at| (at * 7) as u8).collect();
    let (rate, size) = (16_000_u32, data.len() as u32);
    [
        &b"RIFF"[..],
        &(36 + size).to_le_bytes(),
        b"WAVEfmt ",
        &16_u32.to_le_bytes(),
        &1_u16.to_le_bytes(),
        &channels.to_le_bytes(),
        &rate.to_le_bytes(),
        &(rate * u32::from(frame)).to_le_bytes(),
        &frame.to_le_bytes(),
        &bits.to_le_bytes(),
        b"data",
        &size.to_le_bytes(),
        &data,
    ]
    .concat()
}
