-- A replay has the media type and the describing headers of the first answer; null where an earlier release kept none.
ALTER TABLE kit_idempotency ADD COLUMN headers jsonb;
