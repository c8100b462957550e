-- What `analyze` and `recommend` read, so that they touch neither documents nor samples. A question is what runs must share to
-- be put together; its key is the first 63 bits of a hash over all of it.

CREATE TABLE question (
    key             BIGINT PRIMARY KEY,
    model           TEXT NOT NULL,
    random_weights  BIGINT NOT NULL,
    imported        BIGINT NOT NULL,
    machine         TEXT NOT NULL REFERENCES machine (key),
    device          TEXT NOT NULL,
    engine          TEXT NOT NULL,
    precision       TEXT NOT NULL,
    batch_size      BIGINT NOT NULL,
    sequence_length BIGINT,
    mode            TEXT NOT NULL,
    threads         BIGINT NOT NULL,
    variant         TEXT NOT NULL -- what else was told, in words
);

CREATE INDEX question_by_model ON question (model);

-- A run in the few numbers that many are compared by.
CREATE TABLE measured (
    run                TEXT PRIMARY KEY REFERENCES run (id) ON DELETE CASCADE,
    question           BIGINT NOT NULL REFERENCES question (key),
    standing           BIGINT NOT NULL, -- 0 not valid, 1 valid, 2 valid but without a time
    started_at         BIGINT NOT NULL,
    model              BIGINT NOT NULL,
    engine             BIGINT NOT NULL,
    samples            BIGINT NOT NULL,
    median             DOUBLE PRECISION, -- seconds, as all times
    low                DOUBLE PRECISION, -- of the median's 95 % interval
    high               DOUBLE PRECISION,
    p90                DOUBLE PRECISION,
    p95                DOUBLE PRECISION,
    p99                DOUBLE PRECISION,
    p999               DOUBLE PRECISION,
    samples_per_second DOUBLE PRECISION,
    memory_peak        DOUBLE PRECISION, -- bytes where it computes: of the worker, or of the GPU
    joules_per_sample  DOUBLE PRECISION,
    ceiling_share      DOUBLE PRECISION
);

CREATE INDEX measured_by_question ON measured (question, standing, started_at);
