-- A table that readiness truncates and fills in a transaction that it rolls back: always empty. Each time the server
-- must allocate a file and a page, which a full disk refuses.
CREATE TABLE probes_writes (filling text NOT NULL);
