-- Why a run is not valid, by its main reason, so that lists can count reasons without reading documents; NULL where it is valid.
ALTER TABLE measured ADD COLUMN reason TEXT;
