//! Families of picture models by name, and which operators they are made of: what unseen families share with seen ones.

/// What a family is made of.
pub(crate) const TRAITS: usize = 13;

const DEPTHWISE: u16 = 1;
const GROUPED: u16 = 1 << 1;
const ATTENTION: u16 = 1 << 2;
const WINDOWS: u16 = 1 << 3;
const LAYER_NORM: u16 = 1 << 4;
const EXCITATION: u16 = 1 << 5;
const MIXER: u16 = 1 << 6;
const DENSE: u16 = 1 << 7;
const BRANCHES: u16 = 1 << 8;
const LINEAR_ATTENTION: u16 = 1 << 9;
const UNUSUAL: u16 = 1 << 10;
const POSITION: u16 = 1 << 11;
const PYRAMID: u16 = 1 << 12;

/// Parts of names and what they mean; every part that occurs counts.
const PARTS: &[(&str, u16)] = &[
    ("resnet", DENSE),
    ("resnext", GROUPED),
    ("seres", EXCITATION),
    ("senet", EXCITATION),
    ("ecares", EXCITATION),
    ("gcres", EXCITATION),
    ("skres", GROUPED | EXCITATION | BRANCHES),
    ("resnest", GROUPED | EXCITATION | BRANCHES),
    ("res2ne", GROUPED | BRANCHES),
    ("resnetv2", UNUSUAL),
    ("resnetrs", EXCITATION),
    ("regnetx", GROUPED),
    ("regnety", GROUPED | EXCITATION),
    ("regnetz", GROUPED | EXCITATION),
    ("regnetv", GROUPED | EXCITATION),
    ("nfnet", GROUPED | EXCITATION | UNUSUAL),
    ("nf_", UNUSUAL),
    ("efficientnet", DEPTHWISE | EXCITATION),
    ("efficientnetv2", DENSE),
    ("mobilenet", DEPTHWISE),
    ("mobilenetv3", EXCITATION),
    ("mobileone", DEPTHWISE),
    ("mnasnet", DEPTHWISE),
    ("semnasnet", EXCITATION),
    ("fbnet", DEPTHWISE | EXCITATION),
    ("spnasnet", DEPTHWISE),
    ("hardcorenas", DEPTHWISE | EXCITATION),
    ("lcnet", DEPTHWISE | EXCITATION),
    ("tinynet", DEPTHWISE | EXCITATION),
    ("mixnet", DEPTHWISE | EXCITATION | BRANCHES),
    ("ghostnet", DEPTHWISE | EXCITATION | BRANCHES),
    ("repghost", DEPTHWISE),
    ("rexnet", DEPTHWISE | EXCITATION),
    ("repvit", DEPTHWISE | EXCITATION),
    ("starnet", DEPTHWISE),
    ("convnext", DEPTHWISE | LAYER_NORM | PYRAMID),
    ("zepto", DEPTHWISE | LAYER_NORM | PYRAMID),
    ("convmixer", DEPTHWISE),
    ("inception_next", DEPTHWISE | BRANCHES | PYRAMID),
    ("mambaout", DEPTHWISE | LAYER_NORM | PYRAMID),
    ("convformer", DEPTHWISE | LAYER_NORM | PYRAMID),
    ("caformer", DEPTHWISE | LAYER_NORM | ATTENTION | PYRAMID),
    ("poolformer", LAYER_NORM | PYRAMID | UNUSUAL),
    ("focalnet", DEPTHWISE | LAYER_NORM | PYRAMID),
    ("rdnet", DEPTHWISE | LAYER_NORM | BRANCHES),
    ("vit_", ATTENTION | LAYER_NORM),
    ("flexivit", ATTENTION | LAYER_NORM),
    ("naflex", ATTENTION | LAYER_NORM),
    ("deit", ATTENTION | LAYER_NORM),
    ("beit", ATTENTION | LAYER_NORM | POSITION),
    ("eva", ATTENTION | LAYER_NORM | POSITION),
    ("_rope", POSITION),
    ("relpos", POSITION),
    ("aimv2", ATTENTION | LAYER_NORM),
    ("samvit", ATTENTION | LAYER_NORM | WINDOWS | POSITION),
    ("cait", ATTENTION | LAYER_NORM | UNUSUAL),
    ("crossvit", ATTENTION | LAYER_NORM | BRANCHES),
    ("convit", ATTENTION | LAYER_NORM | POSITION),
    ("tnt", ATTENTION | LAYER_NORM | BRANCHES),
    ("visformer", ATTENTION | DENSE | PYRAMID),
    ("volo", ATTENTION | LAYER_NORM | UNUSUAL | PYRAMID),
    ("pit_", ATTENTION | LAYER_NORM | PYRAMID),
    ("pvt", ATTENTION | LAYER_NORM | DEPTHWISE | PYRAMID),
    ("mvit", ATTENTION | LAYER_NORM | DEPTHWISE | POSITION | PYRAMID),
    ("hiera", ATTENTION | LAYER_NORM | WINDOWS | PYRAMID),
    ("nest_", ATTENTION | LAYER_NORM | WINDOWS | PYRAMID),
    ("nextvit", ATTENTION | GROUPED | PYRAMID),
    ("levit", ATTENTION | PYRAMID),
    ("efficientformer", ATTENTION | DENSE | PYRAMID),
    ("efficientvit_m", ATTENTION | DEPTHWISE | PYRAMID),
    ("efficientvit_b", LINEAR_ATTENTION | DEPTHWISE | PYRAMID),
    ("efficientvit_l", LINEAR_ATTENTION | DENSE | PYRAMID),
    ("fastvit", ATTENTION | DEPTHWISE | PYRAMID),
    ("mobilevit", ATTENTION | DEPTHWISE | PYRAMID),
    ("edgenext", LINEAR_ATTENTION | DEPTHWISE | LAYER_NORM | PYRAMID),
    ("xcit", LINEAR_ATTENTION | DEPTHWISE | LAYER_NORM),
    ("swiftformer", LINEAR_ATTENTION | DEPTHWISE | PYRAMID),
    ("coat_", ATTENTION | DEPTHWISE | LAYER_NORM | BRANCHES | PYRAMID),
    ("coatnet", ATTENTION | DEPTHWISE | EXCITATION | POSITION | PYRAMID),
    ("coatnext", ATTENTION | DEPTHWISE | LAYER_NORM | PYRAMID),
    ("maxvit", ATTENTION | DEPTHWISE | EXCITATION | WINDOWS | POSITION | PYRAMID),
    ("maxxvit", ATTENTION | DEPTHWISE | LAYER_NORM | WINDOWS | POSITION | PYRAMID),
    ("vitamin", ATTENTION | DEPTHWISE | LAYER_NORM),
    ("davit", LINEAR_ATTENTION | DEPTHWISE | LAYER_NORM | WINDOWS | PYRAMID),
    ("gcvit", ATTENTION | DEPTHWISE | LAYER_NORM | WINDOWS | PYRAMID),
    ("twins", ATTENTION | LAYER_NORM | WINDOWS | PYRAMID),
    ("swin", ATTENTION | LAYER_NORM | WINDOWS | POSITION | PYRAMID),
    ("tiny_vit", ATTENTION | DEPTHWISE | LAYER_NORM | WINDOWS | PYRAMID),
    ("mixer", MIXER | LAYER_NORM),
    ("resmlp", MIXER),
    ("gmlp", MIXER | LAYER_NORM),
    ("sequencer", MIXER | LAYER_NORM | UNUSUAL),
    ("hgnet", DENSE | BRANCHES),
    ("vgg", DENSE),
    ("repvgg", GROUPED),
    ("densenet", DENSE | BRANCHES),
    ("dla", DENSE | BRANCHES),
    ("dpn", GROUPED | BRANCHES),
    ("hrnet", DENSE | BRANCHES | PYRAMID),
    ("inception", DENSE | BRANCHES),
    ("xception", DEPTHWISE),
    ("nasnet", DEPTHWISE | BRANCHES),
    ("selecsls", DENSE | BRANCHES),
    ("cspres", DENSE | BRANCHES),
    ("darknet", DENSE),
    ("vovnet", DENSE | BRANCHES | EXCITATION),
    ("tresnet", DENSE | EXCITATION | UNUSUAL),
    ("lambda", UNUSUAL | LINEAR_ATTENTION),
    ("halo", UNUSUAL | WINDOWS),
    ("botnet", UNUSUAL | ATTENTION),
    ("bat_res", UNUSUAL),
    ("gernet", DENSE),
];

/// Prefixes that say who trained a model.
const TRAINERS: [&str; 8] =
    ["tf_", "gluon_", "ssl_", "swsl_", "ig_", "legacy_", "tv_", "skcls_"];

/// The leading letters of a name, without who trained it: `efficientnet` of `tf_efficientnet_b0.ns`.
pub(crate) fn family(model: &str) -> String {
    let lower = model.to_ascii_lowercase();
    let name = TRAINERS.iter().find_map(|prefix| lower.strip_prefix(prefix)).unwrap_or(&lower);
    let first = name.split(['.', '_', '-']).next().unwrap_or(name);
    let letters: String = first.chars().take_while(|letter| !letter.is_ascii_digit()).collect();
    if letters.is_empty() { first.to_owned() } else { letters }
}

/// One number per trait: whether the name says it.
pub(crate) fn traits(model: &str) -> [f64; TRAITS] {
    let lower = model.to_ascii_lowercase();
    let all = PARTS
        .iter()
        .filter(|(part, _)| lower.contains(part))
        .fold(0, |all, (_, more)| all | more);
    std::array::from_fn(|at| f64::from(all >> at & 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_family_is_what_a_name_begins_with() {
        assert_eq!(family("tf_efficientnet_b0.ns_jft_in1k"), "efficientnet");
        assert_eq!(family("resnet50"), "resnet");
        assert_eq!(family("vit_base_patch16_224"), "vit");
        assert_eq!(family("007"), "007");
        assert_eq!(traits("seresnext50")[1], 1.0);
        assert_eq!(traits("unheard_of"), [0.0; TRAITS]);
    }
}
