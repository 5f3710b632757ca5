-- works with: 1.0.0
-- run: before

-- What credentials read, as one file that a job writes page by page, for 24 hours.
CREATE TABLE exports_files (
    account_id uuid NOT NULL REFERENCES identity_accounts (id),
    id uuid NOT NULL,
    credential_id uuid NOT NULL, -- the key, connection or session; for a token of another issuer the account
    state text NOT NULL DEFAULT 'running',
    code text, -- why it failed
    parts text[] NOT NULL DEFAULT '{}',
    left_out jsonb NOT NULL, -- the reason by the name of each part
    part text NOT NULL DEFAULT '', -- the last one of which a page is written, or that is left out
    position text, -- the cursor of its next page; null: none follows
    step integer NOT NULL DEFAULT 0, -- counts what the job did
    size bigint NOT NULL DEFAULT 0,
    created_at timestamptz NOT NULL, -- of one that people confirm, when it starts
    is_complete boolean NOT NULL DEFAULT false, -- a person has it, in the session that is its credential
    confirmed_by uuid[] NOT NULL DEFAULT '{}', -- accounts of people
    collected smallint NOT NULL DEFAULT 0, -- how often its content was collected, if it is complete
    PRIMARY KEY (account_id, id)
);
CREATE UNIQUE INDEX exports_files_running ON exports_files (account_id) WHERE state = 'running' AND NOT is_complete;
CREATE UNIQUE INDEX exports_files_complete ON exports_files (account_id)
    WHERE state IN ('asked', 'running') AND is_complete;
CREATE INDEX exports_files_by_age ON exports_files (created_at);
CREATE TABLE exports_pages (
    account_id uuid NOT NULL,
    export_id uuid NOT NULL,
    first_byte bigint NOT NULL, -- its position in the content
    content bytea NOT NULL, -- sealed
    PRIMARY KEY (account_id, export_id, first_byte),
    FOREIGN KEY (account_id, export_id) REFERENCES exports_files (account_id, id) ON DELETE CASCADE
);

-- The rows of an account in a table, from the one after a key on: the key of each, and its columns without those that are
-- hidden, as JSON. Ends at a number of rows or characters. With the rights of the owner, because no role reads all tables.
-- What somebody else has in the account, such as views of its portfolio, is not among them.
CREATE FUNCTION exports_read(place text, owner uuid, hidden text[], after text[], most int, size bigint)
RETURNS TABLE (key text[], item text)
LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
    names text;
    texts text;
    bounds text;
    others text;
    listed refcursor;
BEGIN
    SELECT string_agg(quote_ident(attname), ', ' ORDER BY part.n), string_agg(format('own.%I::text', attname), ', ' ORDER BY part.n),
        string_agg(format('$3[%s]::%s', part.n, format_type(atttypid, atttypmod)), ', ' ORDER BY part.n)
    INTO names, texts, bounds
    FROM pg_index, unnest(indkey) WITH ORDINALITY AS part (number, n), pg_attribute
    WHERE indrelid = to_regclass(place) AND indisprimary AND attrelid = indrelid AND attnum = part.number;
    SELECT coalesce(string_agg(' AND member_id = account_id', ''), '') INTO others
    FROM pg_attribute WHERE attrelid = to_regclass(place) AND attname = 'member_id' AND attnotnull;
    OPEN listed FOR EXECUTE format(
        'SELECT ARRAY[%s], (to_jsonb(own) - $2)::text FROM %I AS own WHERE account_id = $1%s%s ORDER BY %s LIMIT $4',
        texts, place, others, CASE WHEN after IS NOT NULL THEN format(' AND (%s) > (%s)', names, bounds) END, names
    ) USING owner, hidden, after, most;
    WHILE size > 0 LOOP
        FETCH listed INTO key, item;
        EXIT WHEN NOT FOUND;
        RETURN NEXT;
        size := size - length(item);
    END LOOP;
    CLOSE listed;
END
$$;
REVOKE EXECUTE ON FUNCTION exports_read FROM PUBLIC;
DO $$ BEGIN
    EXECUTE format('ALTER FUNCTION exports_read SET search_path = %I, pg_temp', current_schema());
END $$;
