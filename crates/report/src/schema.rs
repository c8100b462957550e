//! JSON Schemas of the documents, made from the types that are written as JSON.
//!
//! `docs/schema` holds the files; a test compares them with what is made here.

use crate::advice::{AdviceDocument, ProgramAdviceDocument};
use crate::analysis::AnalysisDocument;
use crate::answer::AnswerDocument;
use crate::capacity::CapacityDocument;
use crate::ceilings::CeilingsDocument;
use crate::comparison::{ComparisonDocument, ComparisonsDocument};
use crate::document::RunDocument;
use crate::export::ExportDocument;
use crate::fit::FitDocument;
use crate::gate::{CheckDocument, NoiseDocument};
use crate::generation::GenerationDocument;
use crate::gpu::GpuDocument;
use crate::load::LoadDocument;
use crate::pictures::PicturesDocument;
use crate::prediction::{BacktestDocument, HardwareListDocument, PredictionDocument};
use crate::proof::{OptimizeDocument, ProofDocument};
use crate::recommendation::RecommendationsDocument;
use crate::runs::RunsDocument;
use crate::trend::{AlertDocument, TrendDocument};
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value};

/// Every document that this crate writes.
pub const SCHEMAS: [DocumentSchema; 26] = [
    DocumentSchema::of::<RunDocument<'_>>(crate::RUN_SCHEMA),
    DocumentSchema::of::<RunsDocument<'_>>(crate::RUNS_SCHEMA),
    DocumentSchema::of::<ComparisonDocument<'_>>(crate::COMPARISON_SCHEMA),
    DocumentSchema::of::<ComparisonsDocument<'_>>(crate::COMPARISONS_SCHEMA),
    DocumentSchema::of::<AdviceDocument<'_>>(crate::ADVICE_SCHEMA),
    DocumentSchema::of::<ProgramAdviceDocument<'_>>(crate::PROGRAM_ADVICE_SCHEMA),
    DocumentSchema::of::<FitDocument<'_>>(crate::FIT_SCHEMA),
    DocumentSchema::of::<GenerationDocument<'_>>(crate::GENERATION_SCHEMA),
    DocumentSchema::of::<LoadDocument<'_>>(crate::LOAD_SCHEMA),
    DocumentSchema::of::<CapacityDocument<'_>>(crate::CAPACITY_SCHEMA),
    DocumentSchema::of::<GpuDocument<'_>>(crate::GPU_SCHEMA),
    DocumentSchema::of::<ProofDocument<'_>>(crate::PROOF_SCHEMA),
    DocumentSchema::of::<OptimizeDocument<'_>>(crate::OPTIMIZE_SCHEMA),
    DocumentSchema::of::<ExportDocument<'_>>(crate::EXPORT_SCHEMA),
    DocumentSchema::of::<CheckDocument<'_>>(crate::CHECK_SCHEMA),
    DocumentSchema::of::<NoiseDocument<'_>>(crate::NOISE_SCHEMA),
    DocumentSchema::of::<CeilingsDocument<'_>>(crate::CEILINGS_SCHEMA),
    DocumentSchema::of::<AnalysisDocument<'_>>(crate::ANALYSIS_SCHEMA),
    DocumentSchema::of::<TrendDocument<'_>>(crate::TREND_SCHEMA),
    DocumentSchema::of::<AlertDocument<'_>>(crate::ALERT_SCHEMA),
    DocumentSchema::of::<RecommendationsDocument<'_>>(crate::RECOMMENDATIONS_SCHEMA),
    DocumentSchema::of::<PicturesDocument<'_>>(crate::PICTURES_SCHEMA),
    DocumentSchema::of::<AnswerDocument<'_>>(crate::ANSWER_SCHEMA),
    DocumentSchema::of::<PredictionDocument<'_>>(crate::PREDICTION_SCHEMA),
    DocumentSchema::of::<BacktestDocument<'_>>(crate::BACKTEST_SCHEMA),
    DocumentSchema::of::<HardwareListDocument<'_>>(crate::HARDWARE_SCHEMA),
];

/// A document and its JSON Schema.
#[derive(Debug, Clone, Copy)]
pub struct DocumentSchema {
    /// The document's name and version: `modelmeter.run/1`.
    pub name: &'static str,
    made: fn() -> Schema,
}

impl DocumentSchema {
    /// The schema of a type that is written as this document.
    #[must_use]
    pub const fn of<T: JsonSchema>(name: &'static str) -> DocumentSchema {
        DocumentSchema { name, made: made::<T> }
    }

    /// The name of its file: `modelmeter.run-1.schema.json`.
    #[must_use]
    pub fn file_name(&self) -> String {
        format!("{}.schema.json", self.name.replace('/', "-"))
    }

    /// The schema.
    #[must_use]
    pub fn json(&self) -> Value {
        let id = self.name.replace("modelmeter.", "urn:modelmeter:schema:").replace('/', ":");
        let mut json = Map::new();
        json.insert("$schema".into(), "https://json-schema.org/draft/2020-12/schema".into());
        json.insert("$id".into(), id.into());
        json.insert("title".into(), self.name.into());
        let Value::Object(rest) = (self.made)().to_value() else { return Value::Object(json) };
        json.extend(rest.into_iter().filter(|(key, _)| key != "$schema" && key != "title"));
        Value::Object(json)
    }
}

fn made<T: JsonSchema>() -> Schema {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    settings
        .with_transform(RecursiveTransform(tighten))
        .into_generator()
        .into_root_schema_for::<T>()
}

/// What the types do not say by themselves: other keys are wrong, a key that may be absent is never null, and a default is not
/// part of the document. Descriptions come from comments in Rust, where null is `None`.
fn tighten(schema: &mut Schema) {
    schema.remove("default");
    if let Some(text) = schema.get("description").and_then(Value::as_str) {
        let text = text.replace("`None`", "null");
        schema.insert("description".into(), text.into());
    }
    let required = schema.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    let is_object = schema.get("type").is_some_and(|kind| kind == "object");
    if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut)
        && is_object
    {
        let is_required = |key: &str| required.iter().any(|name| name == key);
        let optional = properties.iter_mut().filter(|(key, _)| !is_required(key));
        optional.for_each(|(_, property)| never_null(property));
        schema
            .as_object_mut()
            .map(|object| object.entry("additionalProperties").or_insert(false.into()));
    }
}

/// `["string", "null"]` becomes `"string"`, and of `anyOf` the rest stays.
fn never_null(property: &mut Value) {
    let Some(property) = property.as_object_mut() else { return };
    if let Some(kinds) = property.get_mut("type").and_then(Value::as_array_mut) {
        kinds.retain(|kind| kind != "null");
        if let [only] = kinds.as_slice() {
            let only = only.clone();
            property.insert("type".into(), only);
        }
    }
    let Some(choices) = property.get_mut("anyOf").and_then(Value::as_array_mut) else { return };
    choices.retain(|choice| choice.get("type").is_none_or(|kind| kind != "null"));
    if let [Value::Object(only)] = choices.as_slice() {
        let only = only.clone();
        property.remove("anyOf");
        property.extend(only);
    }
}
