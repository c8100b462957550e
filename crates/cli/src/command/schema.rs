//! `modelmeter schema`: the JSON Schema of a document that `--json` prints.

use crate::{Exit, Failure, arguments::Schema, output};
use flate2::read::DeflateDecoder;
use std::io::Read;

/// Every document and the length of its schema, in the order in which [`PACKED`] has them.
const DOCUMENTS: &[(&str, usize)] = &include!(concat!(env!("OUT_DIR"), "/schemas.rs"));

/// The files of `docs/schema`.
const PACKED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/schemas.deflate"));

pub(crate) fn run(arguments: &Schema) -> Result<Exit, Failure> {
    let Some(name) = &arguments.document else {
        let names: String = DOCUMENTS.iter().map(|(name, _)| format!("{name}\n")).collect();
        output::data(&names)?;
        return Ok(Exit::Fine);
    };
    let Some(schema) = published(name) else {
        return Err(Failure::new(Exit::Wrong, format!("no document is called `{name}`"))
            .hint("`modelmeter schema` lists the documents"));
    };
    output::data(&schema)?;
    Ok(Exit::Fine)
}

fn published(name: &str) -> Option<String> {
    let place = DOCUMENTS.iter().position(|(document, _)| *document == name)?;
    let before: usize = DOCUMENTS[..place].iter().map(|(_, length)| length).sum();
    let mut unpacked = String::new();
    DeflateDecoder::new(PACKED).read_to_string(&mut unpacked).ok()?;
    Some(unpacked[before..before + DOCUMENTS[place].1].to_owned())
}

#[cfg(test)]
mod tests {
    use super::{DOCUMENTS, published};
    use crate::command::{bench, db, devices, models};
    use exchange::{WHOLE_RUN_SCHEMA, WholeRun};
    use report::{DocumentSchema, SCHEMAS};
    use std::{env, fs, path::Path};

    /// Set to anything, it lets the test below write the files.
    const WRITE: &str = "MODELMETER_WRITE_SCHEMAS";

    /// Documents that are not made from a result of the report.
    const OWN: [DocumentSchema; 16] = [
        DocumentSchema::of::<bench::PlanDocument<'_>>(bench::PLAN_SCHEMA),
        DocumentSchema::of::<models::ModelsDocument<'_>>(models::MODELS_SCHEMA),
        DocumentSchema::of::<devices::DevicesDocument<'_>>(devices::DEVICES_SCHEMA),
        DocumentSchema::of::<devices::EnginesDocument>(devices::ENGINES_SCHEMA),
        DocumentSchema::of::<db::StatusDocument<'_>>(db::STATUS_SCHEMA),
        DocumentSchema::of::<db::ImportDocument<'_>>(db::IMPORT_SCHEMA),
        DocumentSchema::of::<serve::NowDocument>(serve::NOW_SCHEMA),
        DocumentSchema::of::<serve::RefusalDocument<'_>>(serve::REFUSAL_SCHEMA),
        DocumentSchema::of::<serve::MeasurementDocument<'_>>(serve::MEASUREMENT_SCHEMA),
        DocumentSchema::of::<serve::StoredDocument>(serve::STORED_SCHEMA),
        DocumentSchema::of::<serve::PlansDocument>(serve::PLANS_SCHEMA),
        DocumentSchema::of::<serve::PlanCellsDocument<'_>>(serve::PLAN_CELLS_SCHEMA),
        DocumentSchema::of::<serve::MachinesDocument>(serve::MACHINES_SCHEMA),
        DocumentSchema::of::<serve::MeasurementsDocument>(serve::MEASUREMENTS_SCHEMA),
        DocumentSchema::of::<serve::ChangeDocument>(serve::CHANGE_SCHEMA),
        DocumentSchema::of::<WholeRun<'_>>(WHOLE_RUN_SCHEMA),
    ];

    #[test]
    fn the_published_schemas_are_those_of_the_types() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema");
        let all: Vec<&DocumentSchema> = SCHEMAS.iter().chain(&OWN).collect();
        for document in &all {
            let (made, path) =
                (format!("{:#}\n", document.json()), folder.join(document.file_name()));
            if env::var_os(WRITE).is_some() {
                fs::write(&path, &made).unwrap();
            }
            let file = fs::read_to_string(&path).unwrap_or_default();
            let path = path.display();
            assert!(file == made, "{path} is not what the types say; set {WRITE}=1 and test again");
            if env::var_os(WRITE).is_none() {
                assert_eq!(published(document.name).as_ref(), Some(&made), "{}", document.name);
            }
        }
        let known = |name: &str| all.iter().any(|document| document.name == name);
        let unknown = DOCUMENTS.iter().find(|(name, _)| !known(name));
        assert_eq!(unknown, None, "a file without a document");
    }
}
