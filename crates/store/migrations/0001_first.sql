-- The first schema. Column types are those that SQLite and PostgreSQL share: BIGINT, DOUBLE PRECISION, TEXT, BLOB;
-- flags are 0 or 1, times are microseconds since the epoch, JSON is TEXT.

CREATE TABLE machine (
    key      TEXT PRIMARY KEY,
    hostname TEXT NOT NULL,
    document TEXT NOT NULL
);

-- What a machine can do at best, by the threads used to find out.
CREATE TABLE ceiling (
    machine     TEXT NOT NULL REFERENCES machine (key),
    threads     BIGINT NOT NULL,
    measured_at BIGINT NOT NULL,
    document    TEXT NOT NULL,
    PRIMARY KEY (machine, threads)
);

-- Keys of models, engines and cells are the first 63 bits of a hash over what they are, so that any number of processes
-- give the same key to the same thing. A model's covers its whole document: one fingerprint may have two names.
CREATE TABLE model (
    key            BIGINT PRIMARY KEY,
    fingerprint    TEXT NOT NULL,
    name           TEXT NOT NULL,
    category       TEXT NOT NULL,
    architecture   TEXT NOT NULL,
    parameters     BIGINT NOT NULL,
    size           BIGINT NOT NULL,
    random_weights BIGINT NOT NULL,
    document       TEXT NOT NULL
);

CREATE TABLE engine (
    key     BIGINT PRIMARY KEY,
    id      TEXT NOT NULL,
    version TEXT NOT NULL
);

-- Equal keys are the same question.
CREATE TABLE cell (
    key             BIGINT PRIMARY KEY,
    model           TEXT NOT NULL,
    engine          TEXT NOT NULL,
    device          TEXT NOT NULL,
    precision       TEXT NOT NULL,
    batch_size      BIGINT NOT NULL,
    sequence_length BIGINT,
    mode            TEXT NOT NULL,
    threads         BIGINT NOT NULL,
    document        TEXT NOT NULL
);

-- Narrow on purpose: a list of a hundred thousand runs reads all of it. Everything long lies in `document`, `metric`
-- and `samples`.
CREATE TABLE run (
    id                 TEXT PRIMARY KEY,
    started_at         BIGINT NOT NULL,
    cell               BIGINT NOT NULL REFERENCES cell (key),
    model              BIGINT NOT NULL REFERENCES model (key),
    engine             BIGINT NOT NULL REFERENCES engine (key),
    machine            TEXT NOT NULL REFERENCES machine (key),
    valid              BIGINT NOT NULL,
    remarks            BIGINT NOT NULL,
    median             DOUBLE PRECISION, -- seconds
    median_error       DOUBLE PRECISION, -- half the interval's width as a share of the median
    samples_per_second DOUBLE PRECISION,
    memory_peak        DOUBLE PRECISION, -- bytes
    samples            BIGINT NOT NULL
);

CREATE INDEX run_by_time ON run (started_at, id);
CREATE INDEX run_by_cell ON run (cell, started_at);
CREATE INDEX run_by_model ON run (model, started_at);

-- The rest of a run as JSON: everything but samples, metrics, tags, model and cell.
CREATE TABLE document (
    run  TEXT PRIMARY KEY REFERENCES run (id) ON DELETE CASCADE,
    body TEXT NOT NULL
);

-- `value` is NULL exactly where `why` says why there is no number.
CREATE TABLE metric (
    run        TEXT NOT NULL REFERENCES run (id) ON DELETE CASCADE,
    place      BIGINT NOT NULL,
    key        TEXT NOT NULL,
    unit       TEXT NOT NULL,
    direction  TEXT NOT NULL,
    value      DOUBLE PRECISION,
    why        TEXT,
    provenance TEXT NOT NULL,
    PRIMARY KEY (run, place)
);

-- Raw timings in nanoseconds: differences, zigzag, varint, zstd. `checksum` covers the plain numbers.
CREATE TABLE samples (
    run      TEXT NOT NULL REFERENCES run (id) ON DELETE CASCADE,
    place    BIGINT NOT NULL,
    phase    TEXT NOT NULL,
    count    BIGINT NOT NULL,
    checksum BIGINT NOT NULL,
    nanos    BLOB NOT NULL,
    PRIMARY KEY (run, place)
);

CREATE TABLE tag (
    run TEXT NOT NULL REFERENCES run (id) ON DELETE CASCADE,
    tag TEXT NOT NULL,
    PRIMARY KEY (run, tag)
);

CREATE INDEX tag_by_name ON tag (tag, run);
