//! Residual networks of convolutions: ResNet.

use super::{
    ArchitectureError,
    blocks::{Activation, Linear},
    config::labels,
    draft::{Draft, Value, vector_dims},
    families::{Drawn, Request},
    heads::Head,
};
use crate::{Init, Layout};
use graph::{Attribute, DataType, Dim};
use types::{InputRole, Postprocess};

/// What PyTorch adds to a variance before its root.
const EPSILON: f32 = 1e-5;
/// How much narrower the middle of a bottleneck is.
const REDUCTION: usize = 4;

/// The sizes of a residual network.
struct Network {
    channels: usize,
    stem: usize,
    widths: Vec<usize>,
    depths: Vec<usize>,
    bottleneck: bool,
    activation: Activation,
    first_halves: bool,
    halves_early: bool,
}

impl Network {
    fn read(request: &Request) -> Result<Network, ArchitectureError> {
        let keys = &request.keys;
        let widths = keys.counts_or("hidden_sizes", &[256, 512, 1024, 2048])?;
        let depths = keys.counts_or("depths", &[3, 4, 6, 3])?;
        if depths.len() != widths.len() {
            let expected = format!("as many as `hidden_sizes` ({})", widths.len());
            return Err(keys.reject("depths", format!("a list of {}", depths.len()), &expected));
        }
        keys.layers("depths", depths.iter().sum())?;
        let bottleneck = match keys.text("layer_type")? {
            None | Some("bottleneck") => true,
            Some("basic") => false,
            Some(other) => return Err(keys.reject("layer_type", other, "basic or bottleneck")),
        };
        if let Some(narrow) = widths.iter().find(|width| bottleneck && **width < REDUCTION) {
            let expected = format!("at least {REDUCTION}, which a bottleneck divides by");
            return Err(keys.reject("hidden_sizes", narrow, &expected));
        }
        Ok(Network {
            channels: keys.count_or("num_channels", 3)?,
            stem: keys.count_or("embedding_size", 64)?,
            widths,
            depths,
            bottleneck,
            activation: keys.activation_or("hidden_act", Activation::Relu)?,
            first_halves: keys.flag_or("downsample_in_first_stage", false)?,
            halves_early: keys.flag_or("downsample_in_bottleneck", false)?,
        })
    }
}

pub(super) fn draw(request: &Request, draft: &mut Draft) -> Result<Drawn, ArchitectureError> {
    let network = Network::read(request)?;
    let dims =
        [Dim::from("batch"), Dim::from(network.channels), Dim::from("height"), Dim::from("width")];
    let pixels = draft.input("pixel_values", InputRole::Image, DataType::Float, &dims, None);
    let width = network.widths.last().copied().unwrap_or(network.stem);
    let (hidden, pooled) = draft.within(request.base, |draft| {
        let hidden = draft.within("embedder", |draft| {
            let stem = Convolution { from: network.channels, to: network.stem, size: 7, stride: 2 };
            let hidden = stem.layer(draft, "embedder", &pixels, Some(network.activation));
            draft.within("pooler", |draft| {
                let (size, stride) = (Attribute::Ints(vec![3; 2]), Attribute::Ints(vec![2; 2]));
                let pads = Attribute::Ints(vec![1; 4]);
                let attributes = [("kernel_shape", size), ("strides", stride), ("pads", pads)];
                draft.op("MaxPool", &[&hidden], &attributes)
            })
        });
        let hidden = stages(draft, &network, hidden);
        let pooled = draft.within("pooler", |draft| draft.op("GlobalAveragePool", &[&hidden], &[]));
        (hidden, pooled)
    });
    if request.head == Head::SequenceClasses {
        let flat = draft.within("classifier.0", |draft| draft.op("Flatten", &[&pooled], &[]));
        let classes = labels(&request.keys)?;
        let init = Init::Normal { std: (width as f32).powf(-0.5) };
        let scores = Linear::torch(width, classes, init).draw(draft, "classifier.1", &flat);
        draft.output("logits", scores, vector_dims(classes));
        return Ok(Drawn { max_length: None, postprocess: Postprocess::Argmax });
    }
    let sides = |side: [Dim; 2]| {
        let [height, breadth] = side;
        vec![Dim::from("batch"), Dim::from(width), height, breadth]
    };
    draft.output("last_hidden_state", hidden, sides([Dim::Unknown, Dim::Unknown]));
    draft.output("pooler_output", pooled, sides([Dim::from(1), Dim::from(1)]));
    Ok(Drawn { max_length: None, postprocess: Postprocess::None })
}

fn stages(draft: &mut Draft, network: &Network, mut hidden: Value) -> Value {
    let mut from = network.stem;
    for (stage, (&to, &depth)) in network.widths.iter().zip(&network.depths).enumerate() {
        for layer in 0..depth {
            let halves = layer == 0 && (stage > 0 || network.first_halves);
            let block = Block { network, from, to, stride: if halves { 2 } else { 1 } };
            let module = format!("encoder.stages.{stage}.layers.{layer}");
            hidden = draft.within(&module, |draft| block.draw(draft, &hidden));
            from = to;
        }
    }
    hidden
}

/// Convolutions with a way around them.
struct Block<'a> {
    network: &'a Network,
    from: usize,
    to: usize,
    stride: usize,
}

impl Block<'_> {
    fn draw(&self, draft: &mut Draft, hidden: &str) -> Value {
        let Block { network, from, to, stride } = *self;
        // Inside a block `transformers` has ReLU, whatever the configuration says of the rest.
        let inner = Some(Activation::Relu);
        let convolution = |from, to, size, stride| Convolution { from, to, size, stride };
        let narrow = to / REDUCTION;
        let parts = match (network.bottleneck, network.halves_early) {
            (false, _) => {
                vec![(convolution(from, to, 3, stride), inner), (convolution(to, to, 3, 1), None)]
            }
            (true, early) => {
                let (first, second) = if early { (stride, 1) } else { (1, stride) };
                vec![
                    (convolution(from, narrow, 1, first), inner),
                    (convolution(narrow, narrow, 3, second), inner),
                    (convolution(narrow, to, 1, 1), None),
                ]
            }
        };
        let mut value = hidden.to_owned();
        for (place, (part, activation)) in parts.into_iter().enumerate() {
            value = part.layer(draft, &format!("layer.{place}"), &value, activation);
        }
        let around = match from != to || stride != 1 {
            true => convolution(from, to, 1, stride).layer(draft, "shortcut", hidden, None),
            false => hidden.to_owned(),
        };
        let sum = draft.op("Add", &[&value, &around], &[]);
        network.activation.draw(draft, "activation", &sum)
    }
}

/// A convolution over square windows that keeps the middle of each window inside the image.
struct Convolution {
    from: usize,
    to: usize,
    size: usize,
    stride: usize,
}

impl Convolution {
    /// With its norm, and what follows.
    fn layer(
        &self,
        draft: &mut Draft,
        module: &str,
        x: &str,
        activation: Option<Activation>,
    ) -> Value {
        draft.within(module, |draft| {
            let value = draft.within("convolution", |draft| {
                let dims = [self.to, self.from, self.size, self.size];
                // As it is drawn before training: by what goes out.
                let std = (2.0 / (self.to * self.size * self.size) as f32).sqrt();
                let init = Init::Normal { std };
                let weight = draft.weight("weight", &dims, Layout::AsStored, init);
                let square = |size: usize| Attribute::Ints(vec![size as i64; 2]);
                let pads = Attribute::Ints(vec![(self.size / 2) as i64; 4]);
                let attributes = [
                    ("kernel_shape", square(self.size)),
                    ("strides", square(self.stride)),
                    ("pads", pads),
                ];
                draft.op("Conv", &[x, &weight], &attributes)
            });
            let value = draft.within("normalization", |draft| normalise(draft, &value, self.to));
            match activation {
                Some(activation) => activation.draw(draft, "activation", &value),
                None => value,
            }
        })
    }
}

/// A batch normalisation with the statistics it was trained with.
fn normalise(draft: &mut Draft, x: &str, channels: usize) -> Value {
    let [weight, bias, mean, variance] =
        [("weight", 1.0), ("bias", 0.0), ("running_mean", 0.0), ("running_var", 1.0)].map(
            |(name, value)| {
                draft.weight(name, &[channels], Layout::AsStored, Init::Constant(value))
            },
        );
    let inputs = [x, &weight, &bias, &mean, &variance];
    draft.op("BatchNormalization", &inputs, &[("epsilon", EPSILON.into())])
}
