//! Files that are small and stand for gigabytes, or that never end: each is refused in a few words and little memory.

use crate::sample;
use modelmeter_exchange::{Error, Format, bounds, file_cells, import, stream_from, write};
use parquet::file::{
    metadata::{ColumnChunkMetaData, ParquetMetaDataWriter},
    reader::FileReader,
    serialized_reader::SerializedFileReader,
};
use std::io::{self, Cursor, Read};

fn said(bytes: &[u8], format: Format) -> String {
    import("x", bytes, Some(format)).unwrap_err().to_string()
}

/// A number as the compact protocol writes it.
fn number(number: i64, into: &mut Vec<u8>) {
    let mut rest = (number << 1) as u64;
    while rest >= 0x80 {
        into.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    into.push(rest as u8);
}

/// A page with a header of its own making; `sort` is the field of its kind's header, the content is twice the number 5.
fn page(kind: i64, sort: u8, size: i64, values: i64) -> Vec<u8> {
    // As snappy has it: the length, and so many bytes as they are.
    let mut content = vec![16, 15 << 2];
    content.extend([5u64.to_le_bytes(), 5u64.to_le_bytes()].concat());
    let mut page = Vec::new();
    for value in [kind, size, content.len() as i64] {
        page.push(0x15);
        number(value, &mut page);
    }
    page.extend([(sort - 3) << 4 | 12, 0x15]);
    number(values, &mut page);
    page.extend([0x15, 0, 0, 0]);
    page.extend(content);
    page
}

/// A file of one run, one column of which has this page.
fn with_page(column: &str, page: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    write(Format::Parquet, [&sample::run(1)], &mut bytes).unwrap();
    let reader = SerializedFileReader::new(bytes::Bytes::from(bytes.clone())).unwrap();
    let facts = reader.metadata().clone();
    let length = u32::from_le_bytes(bytes[bytes.len() - 8..][..4].try_into().unwrap());
    bytes.truncate(bytes.len() - 8 - length as usize);
    let place = bytes.len() as i64;
    bytes.extend(page);
    let changed = |one: &ColumnChunkMetaData| {
        if one.column_path().parts()[0] != column {
            return one.clone();
        }
        let builder = one.clone().into_builder();
        let builder = builder.set_dictionary_page_offset(Some(place)).set_data_page_offset(place);
        builder.set_total_compressed_size(page.len() as i64).build().unwrap()
    };
    let group = facts.row_group(0).clone();
    let columns = group.columns().iter().map(changed).collect();
    let group = group.into_builder().set_column_metadata(columns).build().unwrap();
    let facts = facts.into_builder().set_row_groups(vec![group]).build();
    let mut footer = Vec::new();
    ParquetMetaDataWriter::new(&mut footer, &facts).finish().unwrap();
    bytes.extend(footer);
    bytes
}

#[test]
fn a_page_that_promises_gigabytes_is_refused_before_it_is_read() {
    let dictionary = |values| page(2, 7, 16, values);
    for column in ["latency_samples", "run_id", "samples_ns"] {
        let said = said(&with_page(column, &dictionary(i64::from(i32::MAX))), Format::Parquet);
        assert!(said.contains(column) && said.contains("cannot hold 2147483647 values"), "{said}");
    }
    let large = said(&with_page("run_id", &page(2, 7, 1 << 30, 2)), Format::Parquet);
    assert!(large.contains("a page of 1024 MiB; the limit is 64 MiB"), "{large}");
    let many = said(&with_page("samples_ns", &page(0, 5, 16, 1 << 30)), Format::Parquet);
    assert!(many.contains("lists of 1073741824 values in one group"), "{many}");
    assert!(many.contains("export as jsonl"), "{many}");
    let odd = said(&with_page("run_id", &[0x19, 0xf1, 0xff]), Format::Parquet);
    assert!(odd.contains("`run_id`: is damaged"), "{odd}");
}

#[test]
fn a_column_without_harm_is_still_read() {
    let mut bytes = Vec::new();
    write(Format::Parquet, &[sample::run(1), sample::run(2)], &mut bytes).unwrap();
    assert_eq!(import("x", &bytes, None).unwrap().runs.len(), 2);
}

#[test]
fn a_line_and_a_row_that_never_end_are_given_up_with_their_bound() {
    let mut good = Vec::new();
    write(Format::JsonLines, [&sample::run(1)], &mut good).unwrap();
    let endless = Cursor::new(good).chain(io::repeat(b'x'));
    let found: Vec<_> = stream_from(Format::JsonLines, "x", endless).unwrap().collect();
    assert_eq!(found.len(), 2);
    assert!(found[0].is_ok(), "what came before is taken");
    let said = found[1].as_ref().unwrap_err().to_string();
    assert!(said.starts_with("line 2: is longer than 128 MiB"), "{said}");

    let mut good = Vec::new();
    write(Format::Csv, [&sample::run(1)], &mut good).unwrap();
    let endless = Cursor::new(good).chain(io::repeat(b'x'));
    let found: Vec<_> = stream_from(Format::Csv, "x", endless).unwrap().collect();
    assert_eq!((found.len(), found[0].is_ok()), (2, true));
    let said = found[1].as_ref().unwrap_err().to_string();
    assert!(
        said.contains("longer than the limit of 16 MiB") && said.contains("the rest was not read"),
        "{said}"
    );
    // A header that never ends, and one of commas alone.
    let problem = stream_from(Format::Csv, "x", io::repeat(b'x')).err().unwrap().to_string();
    assert!(problem.contains("longer than the limit of 16 MiB"), "{problem}");
    assert!(said_of_columns().contains("more than 4096 columns"));
}

fn said_of_columns() -> String {
    said(&[&[b','; 1 << 16][..], b"\n"].concat(), Format::Csv)
}

#[test]
fn records_that_are_none_end_an_endless_file() {
    let zeros = io::repeat(b'\n').take(1 << 20);
    assert_eq!(stream_from(Format::JsonLines, "x", zeros).unwrap().count(), 0);
    struct Words(usize);
    impl Read for Words {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            for byte in into.iter_mut() {
                *byte = b"y\n"[self.0 % 2];
                self.0 += 1;
            }
            Ok(into.len())
        }
    }
    let found: Vec<_> = stream_from(Format::JsonLines, "x", Words(0)).unwrap().collect();
    assert_eq!(found.len(), 1000);
    let last = found.last().unwrap().as_ref().unwrap_err().to_string();
    assert!(last.contains("1000 records in a row are not runs"), "{last}");
}

#[test]
fn a_run_of_a_million_empty_objects_is_refused() {
    let line = format!(
        "{{\"schema\":\"modelmeter.whole-run/1\",\"run\":{{\"metrics\":[{}{{}}]}}}}",
        "{},".repeat(1_000_001)
    );
    let said = said(line.as_bytes(), Format::JsonLines);
    assert!(said.contains("more than 1000000 objects"), "{said}");
}

#[test]
fn results_of_other_tools_have_a_bound_in_number_and_in_memory() {
    let record = r#"{"n_prompt":1,"n_gen":0,"avg_ns":1}"#;
    let many = format!("[{}{record}]", format!("{record},").repeat(100_001));
    let said = |text: &str, format| said(text.as_bytes(), format);
    assert!(said(&many, Format::LlamaBench).contains("more than 100000 results"));
    // Objects in one record; and records that are none, of which only the first are kept.
    let nested = format!("[[{}{{}}]]", "{},".repeat(1_000_000));
    for format in [Format::LlamaBench, Format::OnnxRuntime, Format::TrtexecTimes] {
        let said = said(&nested, format);
        assert!(said.contains("more than 512 MiB of memory"), "{format}: {said}");
    }
    for format in [Format::LlamaBench, Format::OnnxRuntime, Format::TrtexecTimes] {
        let bad = format!("[{}{{\"ph\":\"X\"}}]", "{\"ph\":\"X\"},".repeat(50_000));
        let said = said(&bad, format);
        assert!(said.contains("(and 1000 more like it)"), "{format}: {said}");
    }
    let wide = format!("{{\"report\": [{}{{}}]}}", "{},".repeat(1_000_000));
    assert!(said(&wide, Format::OptimumBenchmark).contains("more than 512 MiB of memory"));
}

#[test]
fn a_table_of_few_bytes_a_row_is_not_held_whole() {
    let rows: String = (0..100_002).map(|n| format!("{n:x},m,e\n")).collect();
    let said = said(format!("run_id,model,engine\n{rows}").as_bytes(), Format::Csv);
    assert!(said.contains("more than 100000 runs"), "{said}");
    assert!(said.contains("`modelmeter db import`"), "{said}");
}

#[test]
fn a_baseline_of_rows_without_end_is_refused() {
    let header = "run_ids,latency_median_ms,device,precision,threads,batch_size,runs\n";
    let rows = "a,1,cpu,fp32,1,1,1\n".repeat(1_000_001);
    let error = file_cells("b.csv", format!("{header}{rows}").as_bytes()).unwrap_err();
    assert!(error.to_string().contains("more than 1000000 rows"), "{error}");
}

#[test]
fn bytes_beyond_the_bound_of_a_file_are_refused_by_the_library_too() {
    let bytes = vec![b' '; bounds::RESULTS.bytes as usize + 1];
    let error = import("x", &bytes, Some(Format::Timm)).unwrap_err();
    assert!(matches!(error, Error::Broken { .. }));
    assert!(error.to_string().contains("larger than the limit of 256 MiB"), "{error}");
}
