-- works with: 1.0.0
-- run: before

-- Readiness adds a row in a transaction that it rolls back: always empty. The row fills a page, so the server must
-- allocate one, which a full disk refuses. Vacuum soon gives the pages back.
CREATE TABLE probes_writes (filling text NOT NULL)
    WITH (autovacuum_vacuum_threshold = 20, autovacuum_vacuum_scale_factor = 0);
-- A compressed row would not fill a page. CREATE TABLE takes STORAGE only from PostgreSQL 16 on.
ALTER TABLE probes_writes ALTER COLUMN filling SET STORAGE PLAIN;
