//! Encoders of sound: Whisper's, over spectrograms, and Wav2Vec2, over samples.

use super::{
    ArchitectureError,
    blocks::{Activation, Context, Linear, draw_layers},
    config::{Spectrogram, wav2vec2, whisper},
    description::{Norm, NormKind, NormOrder},
    draft::{Draft, Value},
    families::{Drawn, Request},
    heads::Head,
    naming,
};
use crate::{Init, Layout};
use graph::{Attribute, DataType, Dim};
use types::{InputRole, Postprocess};

/// What PyTorch's norms add to a variance before its root.
const EPSILON: f32 = 1e-5;

/// Whisper's encoder: `[batch, bands, frames]` to `[batch, frames / 2, width]`.
pub(super) fn draw_whisper(
    request: &Request,
    draft: &mut Draft,
) -> Result<Drawn, ArchitectureError> {
    let Spectrogram { stack, bands, places } = whisper(&request.keys)?;
    let (width, init) = (stack.hidden, stack.init);
    let dims = [Dim::from("batch"), Dim::from(bands), Dim::from(2 * places)];
    let sound = draft.input("input_features", InputRole::Audio, DataType::Float, &dims, None);
    let first = Convolution { from: bands, to: width, size: 3, stride: 1, pad: 1, groups: 1 };
    let hidden = first.draw(draft, "conv1", &sound, true, init);
    let hidden = Activation::Gelu.draw(draft, "", &hidden);
    let second = Convolution { from: width, stride: 2, ..first };
    let hidden = second.draw(draft, "conv2", &hidden, true, init);
    let hidden = Activation::Gelu.draw(draft, "", &hidden);
    let hidden = draft.transpose(&hidden, &[0, 2, 1]);
    let known = draft.within("embed_positions", |draft| {
        draft.weight("weight", &[places, width], Layout::AsStored, init)
    });
    let hidden = draft.op("Add", &[&hidden, &known], &[]);
    let hidden = draw_layers(draft, &naming::WHISPER, &stack, &Context::default(), hidden);
    let hidden = stack.norm.draw(draft, "layer_norm", &hidden, width);
    let dims = vec![Dim::from("batch"), Dim::from(places), Dim::from(width)];
    draft.output("last_hidden_state", hidden, dims);
    Ok(Drawn { max_length: None, postprocess: Postprocess::None })
}

/// Wav2Vec2: `[batch, samples]` to a vector for every moment, or to scores for every token.
pub(super) fn draw_wav2vec2(
    request: &Request,
    draft: &mut Draft,
) -> Result<Drawn, ArchitectureError> {
    let waves = wav2vec2(&request.keys)?;
    let (stack, width, init) = (&waves.stack, waves.stack.hidden, waves.stack.init);
    let dims = [Dim::from("batch"), Dim::from("samples")];
    let sound = draft.input("input_values", InputRole::Audio, DataType::Float, &dims, None);
    let (hidden, features) = draft.within(request.base, |draft| {
        let mut hidden = draft.within("feature_extractor", |draft| draft.unsqueeze(&sound, &[1]));
        let mut from = 1;
        for (place, step) in waves.steps.iter().enumerate() {
            let module = format!("feature_extractor.conv_layers.{place}");
            hidden = draft.within(&module, |draft| {
                let convolution = Convolution {
                    from,
                    to: step.width,
                    size: step.size,
                    stride: step.stride,
                    pad: 0,
                    groups: 1,
                };
                let std = (2.0 / (from * step.size) as f32).sqrt();
                let init = Init::Normal { std };
                let value = convolution.draw(draft, "conv", &hidden, waves.bias, init);
                let value = match (waves.norm_all, place) {
                    (true, _) => norm_of_channels(draft, &value, step.width),
                    (false, 0) => norm_over_time(draft, &value, step.width),
                    (false, _) => value,
                };
                waves.activation.draw(draft, "activation", &value)
            });
            from = step.width;
        }
        let features = draft.transpose(&hidden, &[0, 2, 1]);
        let features = stack.norm.draw(draft, "feature_projection.layer_norm", &features, from);
        let linear = Linear::torch(from, width, init);
        let hidden = linear.draw(draft, "feature_projection.projection", &features);
        let places = positions(draft, &waves, &hidden);
        let hidden = draft.within("encoder", |draft| draft.op("Add", &[&hidden, &places], &[]));
        let norm = |draft: &mut Draft, hidden: &str| {
            stack.norm.draw(draft, "encoder.layer_norm", hidden, width)
        };
        let layers = |draft: &mut Draft, hidden: Value| {
            draw_layers(draft, &naming::WAV2VEC2, stack, &Context::default(), hidden)
        };
        let hidden = match stack.order {
            NormOrder::After => {
                let hidden = norm(draft, &hidden);
                layers(draft, hidden)
            }
            NormOrder::Before => {
                let hidden = layers(draft, hidden);
                norm(draft, &hidden)
            }
        };
        (hidden, features)
    });
    let dims = |width: usize| vec![Dim::from("batch"), Dim::from("moments"), Dim::from(width)];
    if request.head == Head::Moments {
        let tokens = request.keys.count_or("vocab_size", 32)?;
        let scores = Linear::torch(width, tokens, init).draw(draft, "lm_head", &hidden);
        draft.output("logits", scores, dims(tokens));
        return Ok(Drawn { max_length: None, postprocess: Postprocess::Argmax });
    }
    let last = waves.steps.last().map_or(1, |step| step.width);
    draft.output("last_hidden_state", hidden, dims(width));
    draft.output("extract_features", features, dims(last));
    Ok(Drawn { max_length: None, postprocess: Postprocess::None })
}

/// A convolution over time.
#[derive(Clone, Copy)]
struct Convolution {
    from: usize,
    to: usize,
    size: usize,
    stride: usize,
    pad: usize,
    groups: usize,
}

impl Convolution {
    fn draw(self, draft: &mut Draft, module: &str, x: &str, bias: bool, init: Init) -> Value {
        draft.within(module, |draft| {
            let dims = [self.to, self.from / self.groups, self.size];
            let weight = draft.weight("weight", &dims, Layout::AsStored, init);
            let bias = bias
                .then(|| draft.weight("bias", &[self.to], Layout::AsStored, Init::Constant(0.0)));
            self.apply(draft, x, &weight, bias.as_deref())
        })
    }

    fn apply(self, draft: &mut Draft, x: &str, weight: &str, bias: Option<&str>) -> Value {
        let inputs: Vec<&str> = [x, weight].into_iter().chain(bias).collect();
        let attributes = [
            ("kernel_shape", Attribute::Ints(vec![self.size as i64])),
            ("strides", Attribute::Ints(vec![self.stride as i64])),
            ("pads", Attribute::Ints(vec![self.pad as i64; 2])),
            ("group", Attribute::Int(self.groups as i64)),
        ];
        draft.op("Conv", &inputs, &attributes)
    }
}

/// Every channel normalised over time: as many groups as channels.
fn norm_over_time(draft: &mut Draft, x: &str, channels: usize) -> Value {
    draft.within("layer_norm", |draft| {
        let scale = draft.weight("weight", &[channels], Layout::AsStored, Init::Constant(1.0));
        let bias = draft.weight("bias", &[channels], Layout::AsStored, Init::Constant(0.0));
        let epsilon = [("epsilon", EPSILON.into())];
        draft.op("InstanceNormalization", &[x, &scale, &bias], &epsilon)
    })
}

/// Every moment normalised over its channels.
fn norm_of_channels(draft: &mut Draft, x: &str, channels: usize) -> Value {
    let turned = draft.transpose(x, &[0, 2, 1]);
    let norm = Norm { kind: NormKind::Layer, epsilon: EPSILON };
    let normal = norm.draw(draft, "layer_norm", &turned, channels);
    draft.transpose(&normal, &[0, 2, 1])
}

/// Where a moment stands, told by a wide convolution whose weight is a direction times a length.
fn positions(draft: &mut Draft, waves: &super::config::Waves, hidden: &str) -> Value {
    let width = waves.stack.hidden;
    let (size, groups) = (waves.position_size, waves.position_groups);
    let convolution =
        Convolution { from: width, to: width, size, stride: 1, pad: size / 2, groups };
    draft.within("encoder.pos_conv_embed", |draft| {
        let turned = draft.transpose(hidden, &[0, 2, 1]);
        let placed = draft.within("conv", |draft| {
            let std = 2.0 * (1.0 / (size * width) as f32).sqrt();
            let weight = draft.within("parametrizations.weight", |draft| {
                let dims = [width, width / groups, size];
                // The length of a direction that is drawn so.
                let length = std * ((width * width / groups) as f32).sqrt();
                let lengths = [1, 1, size];
                let length = Init::Constant(length);
                let length = draft.weight("original0", &lengths, Layout::AsStored, length);
                let init = Init::Normal { std };
                let direction = draft.weight("original1", &dims, Layout::AsStored, init);
                let square = draft.op("Mul", &[&direction, &direction], &[]);
                let axes = draft.integers(&[0, 1]);
                let sum = draft.op("ReduceSum", &[&square, &axes], &[("keepdims", 1.into())]);
                let root = draft.op("Sqrt", &[&sum], &[]);
                let unit = draft.op("Div", &[&direction, &root], &[]);
                draft.op("Mul", &[&unit, &length], &[])
            });
            let bias = draft.weight("bias", &[width], Layout::AsStored, Init::Constant(0.0));
            convolution.apply(draft, &turned, &weight, Some(&bias))
        });
        // An even window leaves one place too many at the end.
        let placed = match size % 2 {
            0 => draft.within("padding", |draft| draft.slice(&placed, 0, -1, 2)),
            _ => placed,
        };
        let placed = waves.activation.draw(draft, "activation", &placed);
        draft.transpose(&placed, &[0, 2, 1])
    })
}
