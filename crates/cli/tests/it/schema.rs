use crate::bench::{Home, quick};
use serde_json::Value;

#[test]
fn a_real_run_keeps_the_published_schema() {
    let home = Home::new();
    let told = home.fine(&quick("small-transformer", &["--json", "-", "--samples"]));
    keeps_the_schema(&told.out);
}

/// Fails where the text is no document of the published schema.
pub(crate) fn keeps_the_schema(text: &str) {
    let run: Value = serde_json::from_str(text).unwrap();
    let schema: Value =
        serde_json::from_str(include_str!("../../../../docs/schema/modelmeter.run-1.schema.json"))
            .unwrap();
    let schema = jsonschema::validator_for(&schema).unwrap();
    let wrong: Vec<String> = schema
        .iter_errors(&run)
        .map(|error| format!("{error} at {}", error.instance_path()))
        .collect();
    assert_eq!(wrong, Vec::<String>::new());
}
