-- The role of the caller in the account that a header of the request selected; null without such a header.
ALTER TABLE kit_idempotency ADD COLUMN selected_role text;
