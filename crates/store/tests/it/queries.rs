//! Questions in SQL from outside.

use crate::{
    place::{Place, on_both},
    sample,
};
use modelmeter_store::{Datum, StoreError};

on_both!(
    a_question_is_answered_with_names_and_kinds,
    a_limit_cuts_the_answer_and_says_so,
    what_would_write_is_refused_and_does_nothing,
    a_question_that_is_not_understood_says_why,
);

fn a_question_is_answered_with_names_and_kinds(place: &Place) {
    let store = place.open();
    for n in 0..3 {
        store.insert_run(&sample::run(n)).unwrap();
    }
    let sql = "SELECT run.id AS id, model.name AS model, median, samples FROM run
               JOIN model ON model.key = run.model ORDER BY started_at DESC LIMIT 1";
    let answer = store.query(sql, None).unwrap();
    assert_eq!(answer.columns, ["id", "model", "median", "samples"]);
    let text = |text: &str| Datum::Text(text.into());
    let expected = [
        text(&sample::run(2).id.0),
        text("distilbert-base-uncased"),
        Datum::Real(0.1 + 0.2),
        Datum::Whole(20),
    ];
    assert_eq!(answer.rows, [expected]);
    assert!(!answer.is_cut);
    // Sums and means are of other types on a server; they come out as numbers all the same.
    let sql = "SELECT SUM(samples), AVG(samples), AVG(median), COUNT(*), MAX(memory_peak), NULL,
               -SUM(samples) * 1000000 FROM run";
    let numbers = store.query(sql, None).unwrap().rows.remove(0);
    assert_eq!(numbers[0], Datum::Whole(60));
    assert_eq!(numbers[1], Datum::Real(20.0));
    assert!(matches!(numbers[2], Datum::Real(mean) if (mean - 0.3).abs() < 1e-12));
    assert_eq!(numbers[3..6], [Datum::Whole(3), Datum::Real(5e8), Datum::Null]);
    assert_eq!(numbers[6], Datum::Whole(-60_000_000));
    let bytes = store.query("SELECT nanos FROM samples LIMIT 1", None).unwrap();
    assert!(matches!(&bytes.rows[0][0], Datum::Bytes(bytes) if !bytes.is_empty()));
    let none = store.query("SELECT id FROM run WHERE id = 'none'", None).unwrap();
    assert_eq!((none.columns.len(), none.rows.len()), (1, 0));
}

fn a_limit_cuts_the_answer_and_says_so(place: &Place) {
    let store = place.open();
    for n in 0..5 {
        store.insert_run(&sample::run(n)).unwrap();
    }
    let sql = "SELECT id FROM run";
    let some = store.query(sql, Some(3)).unwrap();
    assert_eq!((some.rows.len(), some.is_cut), (3, true));
    let all = store.query(sql, Some(5)).unwrap();
    assert_eq!((all.rows.len(), all.is_cut), (5, false));
    // Nothing is left over for the next question.
    assert_eq!(store.status().unwrap().runs, 5);
}

fn what_would_write_is_refused_and_does_nothing(place: &Place) {
    let store = place.open();
    store.insert_run(&sample::run(1)).unwrap();
    let before = store.status().unwrap();
    for sql in [
        "DELETE FROM run",
        "UPDATE run SET valid = 0",
        "INSERT INTO tag (run, tag) SELECT id, 'x' FROM run RETURNING tag",
        "DELETE FROM run RETURNING id",
        "DROP TABLE run",
        "CREATE TABLE extra (x BIGINT)",
        "VACUUM",
    ] {
        let error = store.query(sql, None).unwrap_err();
        assert!(matches!(error, StoreError::Writes), "{sql}: {error}");
        assert!(error.hint().is_some() && error.is_asked_wrongly());
    }
    for sql in ["SELECT 1; DELETE FROM run", "COMMIT; DELETE FROM run", "SELECT 1; COMMIT"] {
        let error = store.query(sql, None).unwrap_err();
        assert!(matches!(error, StoreError::BadQuery { .. }), "{sql}: {error}");
    }
    let after = store.status().unwrap();
    assert_eq!((after.runs, &after.coverage), (1, &before.coverage));
    assert_eq!(store.run(&sample::run(1).id.0).unwrap(), sample::run(1));
    // The connection still writes for us.
    store.insert_run(&sample::run(2)).unwrap();
}

fn a_question_that_is_not_understood_says_why(place: &Place) {
    let store = place.open();
    for (sql, word) in
        [("SELECT nonsense FROM run", "nonsense"), ("SELECT FROM WHERE", "syntax"), ("", "")]
    {
        let error = store.query(sql, None).unwrap_err();
        assert!(matches!(error, StoreError::BadQuery { .. } | StoreError::Writes), "{error}");
        assert!(error.to_string().contains(word), "{sql}: {error}");
    }
    if place.is_server() {
        let error = store.query("SELECT now() AS moment", None).unwrap_err();
        assert!(matches!(error, StoreError::BadColumn { .. }), "{error}");
        assert!(error.hint().unwrap().contains("CAST(moment AS TEXT)"));
        assert_eq!(store.query("SELECT CAST(now() AS TEXT)", None).unwrap().rows.len(), 1);
    }
}
