"""Reads what we exported with the libraries that others use, and writes a Parquet file for us to import."""

import csv
import json
import sys
from pathlib import Path

import pandas
import pyarrow.parquet as parquet

folder = Path(sys.argv[1])
whole = [json.loads(line)["run"] for line in (folder / "x.jsonl").read_text().splitlines()]

with open(folder / "x.csv", newline="") as file:
    rows = list(csv.DictReader(file))
assert len(rows) == len(whole)
for row, run in zip(rows, whole):
    assert row["run_id"] == run["id"]
    assert float(row["latency_median_seconds"]) == run["summaries"]["total"]["median"]
    assert int(row["seed"]) == run["cell"]["seed"]
    # What a spreadsheet would calculate stands behind an apostrophe; numbers do not.
    assert row["model"] == "'" + run["model"]["name"], row["model"]
    assert row["latency_std_seconds"][0].isdigit()

table = parquet.read_table(folder / "x.parquet")
assert table.schema.metadata[b"modelmeter.flat"] == b"1"
assert str(table.schema.field("seed").type) == "uint64"
assert str(table.schema.field("started_at").type) == "timestamp[us, tz=UTC]"
assert str(table.schema.field("samples_ns").type).startswith("list<")
assert table.column_names[:-1] == list(rows[0])
for record, run in zip(table.to_pylist(), whole):
    assert record["run_id"] == run["id"]
    assert record["model"] == run["model"]["name"]
    assert record["seed"] == run["cell"]["seed"]
    assert record["latency_median_seconds"] == run["summaries"]["total"]["median"]
    assert record["samples_ns"] == run["samples"][1]["nanos"]
    assert record["valid"] is True
    assert int(record["started_at"].timestamp() * 1e6) == run["started_at"]
    assert record["source_tool"] is None

# As somebody would who works with data frames: some columns, another order, an own one beside them.
frame = pandas.read_parquet(folder / "x.parquet")
frame = frame[["model", "engine", "run_id", "device", "precision", "batch_size", "latency_median_seconds"]]
frame["mine"] = 1.5
frame.to_parquet(folder / "back.parquet", compression="snappy")
