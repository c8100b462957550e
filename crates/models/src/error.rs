//! What can go wrong between a name and a model that is ready to run.

use crate::architecture::ArchitectureError;
use graph::DataType;
use std::{
    error::Error,
    fmt::{Display, Formatter},
    io,
    path::PathBuf,
};
use types::{Category, Precision};

/// Any cause, kept for the chain of causes.
pub(crate) type Cause = Box<dyn Error + Send + Sync>;

/// Why a model could not be made ready.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum ModelError {
    #[error("no model is called `{name}`: {}", tried.join("; "))]
    Unknown { name: String, near: Vec<String>, tried: Vec<String> },
    #[error("`{}` does not exist", path.display())]
    MissingFile { path: PathBuf },
    #[error("`{}` is not a file", path.display())]
    NotAFile {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("the model has no name")]
    NoName,
    #[error("`{address}` is an address; models are given by name or by path")]
    Address { address: String },
    #[error("no function of `{}` was given", path.display())]
    NoFunction { path: PathBuf },
    #[error("`{}` is not a model: {why}", path.display())]
    NotAModel { path: PathBuf, why: String },
    #[error("could not read `{}`", path.display())]
    Read {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("could not read `{}` as an ONNX model", path.display())]
    Onnx {
        path: PathBuf,
        #[source]
        source: Cause,
    },
    #[error("could not read `{}` as JSON", path.display())]
    Config {
        path: PathBuf,
        #[source]
        source: serde_json::Error,
    },
    #[error("could not build a graph for `{name}`")]
    Architecture {
        name: String,
        #[source]
        source: ArchitectureError,
    },
    #[error("the weights of `{name}` would be larger than any disk")]
    TooLarge { name: String },
    #[error("`{}` has its weights only as a pickle (`{file}`), which may run any code when it is read", path.display())]
    OnlyPickle { path: PathBuf, file: String },
    #[error("`{}` has no weights: neither `model.safetensors` nor `onnx/model.onnx` is there", path.display())]
    NoWeights { path: PathBuf },
    #[error("`{}` ends too early: it needs {needed} bytes and has {present}", path.display())]
    Truncated { path: PathBuf, needed: u64, present: u64 },
    #[error("the header of `{}` is damaged: {why}", path.display())]
    Header { path: PathBuf, why: String },
    #[error(
        "`{}` holds a model of the family `{family}`; of GGUF files, {} are supported",
        path.display(), known.join(", ")
    )]
    GgufFamily { path: PathBuf, family: String, known: Vec<&'static str> },
    #[error("`{}` has no tensor `{name}`", path.display())]
    MissingTensor { path: PathBuf, name: String },
    #[error("tensor `{name}` in `{}` has shape {found:?}, the configuration expects {expected:?}", path.display())]
    TensorShape { path: PathBuf, name: String, expected: Vec<usize>, found: Vec<usize> },
    #[error("tensor `{name}` in `{}` is stored as {dtype}, which is not supported", path.display())]
    TensorType { path: PathBuf, name: String, dtype: String },
    #[error("`{}`, line {line}: {message}", path.display())]
    Description { path: PathBuf, line: usize, message: String, near: Option<String> },
    #[error("could not write the prepared model to `{}`", path.display())]
    Write {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("`{}` is damaged: its content is not what was written", path.display())]
    Damaged { path: PathBuf, folder: PathBuf },
    #[error("the disk is full: the model prepared in `{}` needs {needed} bytes", path.display())]
    DiskFull {
        path: PathBuf,
        needed: u64,
        #[source]
        source: io::Error,
    },
    #[error("`{model}` computes in {native} and cannot be converted to {asked}")]
    Precision { model: String, native: Precision, asked: Precision },
    #[error("could not convert `{model}` to {asked}")]
    Convert {
        model: String,
        asked: Precision,
        #[source]
        source: Box<graph::ConvertError>,
    },
    #[error("could not prune `{model}`")]
    Prune {
        model: String,
        #[source]
        source: Box<graph::PruneError>,
    },
    #[error("`{}` exists", path.display())]
    FolderExists { path: PathBuf },
    #[error("`{}` exists", path.display())]
    FileExists { path: PathBuf },
    #[error("`{}` is not replaced, even with `--force`: {why}", path.display())]
    NotOurs { path: PathBuf, why: String },
    #[error("`{model}` cannot be written in another opset")]
    Opset {
        model: String,
        #[source]
        source: graph::OpsetError,
    },
    #[error("could not write `{}`", path.display())]
    Export {
        path: PathBuf,
        #[source]
        source: graph::WriteError,
    },
    #[error("`{model}` has no graph to change")]
    NothingToChange { model: String },
    #[error("`{model}` is no file of llama.cpp: its weights are not stored in blocks")]
    NotStored { model: String },
    #[error(
        "`{model}` does not generate text: it is a model for {category}, and none of the decoders that are supported"
    )]
    DoesNotGenerate { model: String, category: Category },
    #[error(
        "`{model}` takes {maximum} tokens, {length} were requested (depth and prompt or generated tokens together)"
    )]
    ContextTooLong { model: String, length: usize, maximum: usize },
    #[error("`{model}` would read or write 0 tokens")]
    NoTokens { model: String },
    #[error("`{model}` has no graph to convert to {asked}")]
    NoGraph { model: String, asked: Precision },
    #[error("`{model}` has no input `{name}`; its inputs are {}", quoted(known))]
    UnknownInput { model: String, name: String, known: Vec<String> },
    #[error("input `{input}` has {rank} dimensions, {asked} were given")]
    Rank { input: String, rank: usize, asked: usize },
    #[error(
        "dimension {position} of input `{input}` is {declared} in the model, {asked} was given"
    )]
    FixedDimension { input: String, position: usize, declared: usize, asked: usize },
    #[error(
        "dimension {position} of input `{input}` would be {asked}, but `{symbol}` is already {bound}"
    )]
    Contradiction { input: String, position: usize, symbol: String, bound: usize, asked: usize },
    #[error("input `{input}` was given twice")]
    GivenTwice { input: String },
    #[error("dimension {position} of input `{input}` is 0; it must be at least 1")]
    ZeroDimension { input: String, position: usize },
    #[error("input `{input}` of shape {} would need {bytes} bytes", crossed(dims))]
    TooManyBytes { input: String, dims: Vec<usize>, bytes: u128 },
    #[error("the batch size must be at least 1")]
    ZeroBatch,
    #[error("the sequence length must be at least 1")]
    ZeroLength,
    #[error("a length of {length} is above the {maximum} that `{model}` allows")]
    TooLong { model: String, length: usize, maximum: usize },
    #[error(
        "the batch size of `{model}` is fixed to {fixed} by input `{input}`, {asked} was given"
    )]
    FixedBatch { model: String, input: String, fixed: usize, asked: usize },
    #[error("`{model}` takes one sample at a time (no input counts samples), {asked} were given")]
    NoBatch { model: String, asked: usize },
    #[error("`{}` cannot be used as an input: {why}", path.display())]
    Array { path: PathBuf, why: String },
    #[error("`{}` cannot be used with `{model}`: {why}", path.display())]
    Data { model: String, path: PathBuf, why: String },
    #[error("input `{input}` cannot hold {value}")]
    Value { input: String, value: f64 },
    #[error(
        "`{}` holds an array of {}, but input `{input}` was given as {}",
        path.display(),
        crossed(found),
        crossed(asked)
    )]
    OtherShape { input: String, path: PathBuf, found: Vec<usize>, asked: Vec<usize> },
    #[error("input `{input}` holds {dtype}; `{range}` does not fit it")]
    Range { input: String, dtype: &'static str, range: String },
    #[error("the length of `{model}` is fixed to {fixed} by input `{input}`, {asked} was given")]
    FixedLength { model: String, input: String, fixed: usize, asked: usize },
    #[error("input `{input}` needs {values}, which cannot be generated")]
    InputType { input: String, values: NoValues },
    #[error("token id {id} is outside the vocabulary of {vocabulary} that `{model}` has")]
    OutsideVocabulary { model: String, id: i64, vocabulary: usize },
    #[error("`{model}` has no tokenizer, so it cannot take text")]
    NoTokenizer { model: String },
    #[error("could not read the tokenizer `{}`", path.display())]
    Tokenizer {
        path: PathBuf,
        #[source]
        source: Cause,
    },
    #[error("this build cannot read tokenizers")]
    TokenizersAbsent,
    #[error("the tokenizer could not encode the text")]
    Encode(#[source] Cause),
    #[error("the tokenizer could not turn tokens into text")]
    Decode(#[source] Cause),
    #[error("there is no text to encode")]
    NoText,
}

/// Values of an input that cannot be generated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoValues {
    /// Texts.
    Strings,
    /// A sequence, a map or an optional value.
    NoTensor,
    /// Numbers of this type.
    Numbers(DataType),
}

impl Display for NoValues {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            NoValues::Strings => f.write_str("strings"),
            NoValues::NoTensor => {
                f.write_str("a sequence, a map or an optional value instead of a tensor")
            }
            NoValues::Numbers(of) => {
                write!(f, "numbers of type {}", format!("{of:?}").to_lowercase())
            }
        }
    }
}

impl ModelError {
    /// What to try next.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        use ModelError as E;
        Some(match self {
            E::Unknown { near, .. } if near.is_empty() => {
                "`modelmeter models` lists the names that always work".into()
            }
            E::Unknown { near, .. } => {
                format!("did you mean {}? `modelmeter models` lists all", quoted(near))
            }
            E::MissingFile { .. } => "check the path; a hub name has no leading `./` or `/`".into(),
            E::NoName => {
                "give a preset's name, a hub name or a path; `modelmeter models` lists the presets"
                    .into()
            }
            E::Address { address } => match hub_name(address) {
                Some(name) => format!("use the hub name: `{name}`"),
                None => "download the file and give its path".into(),
            },
            E::Onnx { source, .. } => return onnx_hint(source.as_ref()),
            E::Read { source, .. } if source.kind() == io::ErrorKind::PermissionDenied => {
                PERMISSIONS.into()
            }
            E::Config { .. } => {
                "`config.json` must be plain JSON text; download it again or correct it".into()
            }
            E::NoFunction { path } => {
                format!("`--torch-module {}:NAME` says which function returns the module", path.display())
            }
            E::NotAModel { path, .. } if path.extension().is_some_and(|ending| ending == "py") => {
                format!("`--torch-module {}:NAME`", path.display())
            }
            E::NotAFile { .. } | E::NotAModel { .. } => {
                "give an `.onnx` or `.gguf` file, a `.toml` description or a folder with `config.json`"
                    .into()
            }
            E::Truncated { .. } | E::Header { .. } => {
                "download or export the file again".into()
            }
            E::Architecture {
                source:
                    ArchitectureError::UnknownArchitecture { .. }
                    | ArchitectureError::UnknownHead { .. },
                ..
            } => {
                "export it to ONNX (`optimum-cli export onnx`) and give the `.onnx` file".into()
            }
            E::Architecture { .. } | E::TooLarge { .. } => "correct the configuration".into(),
            E::OnlyPickle { .. } => {
                "convert it: `model.save_pretrained(folder)` in Python writes safetensors; \
                 `--allow-pickle` lets PyTorch read it, for files you trust"
                    .into()
            }
            E::NoWeights { .. } => {
                "download `model.safetensors` into the folder, or give a preset's name to run it with \
                 random weights"
                    .into()
            }
            E::MissingTensor { .. } | E::TensorShape { .. } => {
                "the weights do not belong to this `config.json`; download both again".into()
            }
            E::GgufFamily { .. } => {
                "give the Hugging Face folder that the file was made from".into()
            }
            E::TensorType { .. } => "save the weights as F32, F16 or BF16".into(),
            E::Description { near: Some(near), .. } => format!("did you mean `{near}`?"),
            E::DiskFull { .. } => {
                "free some space, or point the cache folder to another disk".into()
            }
            E::Precision { native, .. } => {
                format!("omit `--precision` to run it in {native}")
            }
            E::NotStored { .. } => "`stored` is for `.gguf` files; omit `--precision`".into(),
            E::Convert { source, .. } => match &**source {
                graph::ConvertError::Opset { needed, .. } => {
                    format!("export the model again with operator set {needed} or newer")
                }
                graph::ConvertError::Nothing { .. } => {
                    "omit `--precision` to run it in fp32".into()
                }
                _ => return None,
            },
            E::Prune { source, .. } => return prune_hint(source),
            E::FolderExists { .. } => "give another folder, or `--force` to replace it".into(),
            E::FileExists { .. } => "give another file, or `--force` to replace it".into(),
            E::NotOurs { path, .. } => format!(
                "choose another place with `-o`, or move this one away: `mv {} {}`",
                shell_word(&path.to_string_lossy()),
                shell_word(&format!("{}.old", path.to_string_lossy().trim_end_matches('/')))
            ),
            E::Opset { source, .. } => match source {
                graph::OpsetError::Found { .. } => "omit `--opset` to write it as it is".into(),
                _ => format!(
                    "`--opset {}` is the default; {} to {} are possible",
                    graph::DEFAULT_OPSET,
                    graph::OPSETS.start(),
                    graph::OPSETS.end()
                ),
            },
            E::NothingToChange { .. } => "give a preset, a Hugging Face folder or an `.onnx` file".into(),
            E::DoesNotGenerate { .. } => {
                "GPT-2, Llama, Mistral, Qwen2 and Gemma 3 models generate: a folder, a `.gguf` file, `gpt2`, `smollm2-135m`"
                    .into()
            }
            E::ContextTooLong { maximum, .. } => {
                format!("choose `-d` and `-p` or `-n` so that their sum is at most {maximum}")
            }
            E::NoTokens { .. } => "ask for at least one token: `-p 512 -n 128`".into(),
            E::NoGraph { .. } => "use an engine that runs modules and converts them itself: `modelmeter engines list`".into(),
            E::Rank { .. } | E::FixedDimension { .. } | E::Contradiction { .. } => {
                "give another shape, or omit `--input` and `--data` to use default shapes".into()
            }
            E::TooLong { maximum, .. } => format!("use `--sequence-length {maximum}` or less"),
            E::Array { .. } => "write it with `numpy.save(\"x.npy\", array)`".into(),
            E::Data { .. } => {
                "`--data inputs.npz` gives values by the names of the inputs".into()
            }
            E::Value { .. } => "save values that the input's type can hold".into(),
            E::OtherShape { input, .. } => {
                format!("give `{input}` once: the file sets its shape")
            }
            E::NoBatch { .. } => "use `--batch-size 1`".into(),
            E::Range { input, .. } => format!("give whole numbers that fit: `--input {input}=0..100`"),
            E::FixedBatch { fixed, .. } => format!("use `--batch-size {fixed}`"),
            E::FixedLength { fixed, .. } => format!("use `--sequence-length {fixed}`"),
            E::InputType { values: NoValues::Numbers(_), .. } => {
                "export the model with float32, int64 or int32 inputs".into()
            }
            E::InputType { .. } => {
                "export the model without its text or table preprocessing".into()
            }
            E::ZeroDimension { .. } | E::TooManyBytes { .. } => {
                "give the shape with `--input name=1x3`, or another batch size or length".into()
            }
            E::GivenTwice { .. } => "give `--input` once for each input".into(),
            E::OutsideVocabulary { .. } => {
                "the tokenizer belongs to another model; put the model's own `tokenizer.json` beside it"
                    .into()
            }
            E::NoTokenizer { .. } => {
                "put `tokenizer.json` beside the model, or omit `--text` to use random token ids".into()
            }
            E::Damaged { folder, .. } => {
                format!("`rm -r '{}'` and run again; check the disk", folder.display())
            }
            E::TokenizersAbsent => {
                "build with the feature `tokenizers`, or omit `--text` to use random token ids".into()
            }
            E::Tokenizer { .. } => "download `tokenizer.json` again".into(),
            _ => return None,
        })
    }
}

const PERMISSIONS: &str =
    "no permission to read it; check the permissions of the file and its folders";

fn prune_hint(source: &graph::PruneError) -> Option<String> {
    use graph::PruneError as P;
    Some(match source {
        P::Sparsity { .. } => "`--sparsity 0.5` sets half of the weights to zero".into(),
        P::Groups { .. } => "`--pattern 2:4` or `--pattern 4:8`".into(),
        P::NoMatch { near, .. } if !near.is_empty() => format!("there are {}, …", quoted(near)),
        P::AlreadySparse { .. } => "give a higher `--sparsity`, or the model it was made from".into(),
        P::AlreadyCut { .. } => "give the model it was made from, with a higher `--sparsity`".into(),
        P::NotFound { .. } => {
            "`--method magnitude` and `n-m` need no structure; they make files smaller once compressed, \
             not inference faster"
                .into()
        }
        P::AllGone { .. } => "give a lower `--sparsity`".into(),
        P::Native { .. } => "prune the fp32 model first, then quantise it".into(),
        P::NoWeights => "export the model with its weights".into(),
        _ => return None,
    })
}

/// A graph that could not be opened is not damaged.
fn onnx_hint(source: &(dyn Error + Send + Sync + 'static)) -> Option<String> {
    use graph::ReadError as R;
    match source.downcast_ref::<R>() {
        Some(R::Open { source, .. } | R::External { source, .. }) => match source.kind() {
            io::ErrorKind::PermissionDenied => Some(PERMISSIONS.into()),
            io::ErrorKind::NotFound => Some("put the weights file next to the model".into()),
            _ => None,
        },
        Some(R::Escapes { .. } | R::Leaves { .. }) => None,
        Some(R::Cycle { .. }) => Some("export the model again".into()),
        _ => Some("download or export the file again".into()),
    }
}

/// `organisation/name` of an address on the public hub.
fn hub_name(address: &str) -> Option<String> {
    let (_, rest) = address.split_once("://")?;
    let mut parts =
        rest.strip_prefix("huggingface.co/")?.split('/').filter(|part| !part.is_empty());
    Some(format!("{}/{}", parts.next()?, parts.next()?))
}

fn crossed(dims: &[usize]) -> String {
    dims.iter().map(usize::to_string).collect::<Vec<_>>().join("x")
}

/// A word that a shell leaves as it is.
fn shell_word(text: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+=:@%,".contains(c);
    match !text.is_empty() && text.chars().all(is_plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', "'\\''")),
    }
}

fn quoted(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(kind: io::ErrorKind) -> ModelError {
        let path = PathBuf::from("model.onnx");
        let source = graph::ReadError::Open { path: path.clone(), source: kind.into() };
        ModelError::Onnx { path, source: source.into() }
    }

    #[test]
    fn what_may_not_be_read_is_not_to_be_downloaded_again() {
        assert_eq!(open(io::ErrorKind::PermissionDenied).hint().unwrap(), PERMISSIONS);
        assert_eq!(open(io::ErrorKind::InvalidInput).hint(), None);
        let denied = io::ErrorKind::PermissionDenied.into();
        let error = ModelError::Read { path: "tokenizer.json".into(), source: denied };
        assert_eq!(error.hint().unwrap(), PERMISSIONS);
        let damaged = graph::ReadError::Empty { path: "model.onnx".into() };
        let error = ModelError::Onnx { path: "model.onnx".into(), source: damaged.into() };
        assert_eq!(error.hint().unwrap(), "download or export the file again");
    }

    #[test]
    fn an_address_on_the_hub_is_turned_into_a_name() {
        let hint = |address: &str| ModelError::Address { address: address.into() }.hint().unwrap();
        let expected = "use the hub name: `google/vit`";
        assert_eq!(hint("https://huggingface.co/google/vit/tree/main"), expected);
        assert_eq!(hint("http://example.org/m.onnx"), "download the file and give its path");
    }
}
