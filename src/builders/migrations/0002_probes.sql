-- Readiness adds a row in a transaction that it rolls back: always empty. The row fills a page, so the server must
-- allocate one, which a full disk refuses. Vacuum soon gives the pages back.
CREATE TABLE probes_writes (filling text STORAGE PLAIN NOT NULL)
    WITH (autovacuum_vacuum_threshold = 20, autovacuum_vacuum_scale_factor = 0);
