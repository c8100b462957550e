-- Allocations and frees of a run, an entry an event in each column: differences, zigzag, varint, zstd, as samples are.
-- `document` is JSON: the names that the column `layers` points into, where each inference ended, and what was lost.

CREATE TABLE allocation (
    run      TEXT PRIMARY KEY REFERENCES run (id) ON DELETE CASCADE,
    events   BIGINT NOT NULL,
    document TEXT NOT NULL
);

CREATE TABLE allocation_column (
    run      TEXT NOT NULL REFERENCES allocation (run) ON DELETE CASCADE,
    name     TEXT NOT NULL,
    count    BIGINT NOT NULL,
    checksum BIGINT NOT NULL,
    body     BLOB NOT NULL,
    PRIMARY KEY (run, name)
);
