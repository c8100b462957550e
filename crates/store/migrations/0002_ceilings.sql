-- Ceilings of devices beside the processors. A primary key cannot be changed in place, so the table is made anew;
-- what was stored before was measured on the processors.

CREATE TABLE ceiling_of_device (
    machine     TEXT NOT NULL REFERENCES machine (key),
    device      TEXT NOT NULL,
    threads     BIGINT NOT NULL, -- 0 where the device is no processor
    measured_at BIGINT NOT NULL,
    document    TEXT NOT NULL,
    PRIMARY KEY (machine, device, threads)
);

INSERT INTO ceiling_of_device (machine, device, threads, measured_at, document)
SELECT machine, 'cpu', threads, measured_at, document FROM ceiling;

DROP TABLE ceiling;

ALTER TABLE ceiling_of_device RENAME TO ceiling;
