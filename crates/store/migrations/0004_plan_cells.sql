-- The cells of a plan and who measures them. A worker leases a cell, says now and then that it is alive, and finishes it; a
-- lease that ran out may be taken by another. `token` grows with every lease, so that one that was taken away is known.

CREATE TABLE plan_cell (
    plan        TEXT NOT NULL,
    key         TEXT NOT NULL,
    position    BIGINT NOT NULL,
    document    TEXT NOT NULL,
    state       TEXT NOT NULL,   -- waiting, leased, done or failed
    token       BIGINT NOT NULL, -- how often it was leased
    worker      TEXT,            -- the last one that leased it
    leased_at   BIGINT,
    expires_at  BIGINT,
    finished_at BIGINT,
    run         TEXT,            -- not a reference: it may still lie in a spool, and may be deleted later
    reason      TEXT,            -- why it failed
    PRIMARY KEY (plan, key)
);

CREATE INDEX plan_cell_by_state ON plan_cell (plan, state, position);
