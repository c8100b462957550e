-- What a machine does to measurements of one and the same thing; every test of it stays, because only together do they
-- show how it drifts over days.

CREATE TABLE noise (
    machine     TEXT NOT NULL REFERENCES machine (key),
    measured_at BIGINT NOT NULL,
    document    TEXT NOT NULL,
    PRIMARY KEY (machine, measured_at)
);

-- The checkout that a run was asked for in, so that a branch and a history are found without reading documents.
CREATE TABLE revision (
    run    TEXT PRIMARY KEY REFERENCES run (id) ON DELETE CASCADE,
    hash   TEXT NOT NULL,
    branch TEXT
);

CREATE INDEX revision_by_branch ON revision (branch);
CREATE INDEX revision_by_hash ON revision (hash);
