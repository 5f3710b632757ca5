"""All SQL of exports."""

from collections.abc import Sequence

from builders.exports.records import Export
from builders.kit.db.columns import columns_of
from builders.kit.db.queries import query

COLUMNS = columns_of(Export)
# None while another export of the account is being written.
insert = query(f"""
    INSERT INTO exports_files (account_id, id, credential_id, left_out, created_at)
    VALUES (%(account_id)s, %(export_id)s, %(credential_id)s, %(left_out)s::jsonb, %(now)s)
    ON CONFLICT (account_id) WHERE state = 'running' AND NOT is_complete DO NOTHING
    RETURNING {COLUMNS}
""").one(Export)
find = query(f"""
    SELECT {COLUMNS} FROM exports_files
    WHERE account_id = %(account_id)s AND id = %(export_id)s AND created_at > %(since)s
""").one(Export)
# False when another worker did the step, or the export has ended.
advance = query("""
    UPDATE exports_files
    SET step = step + 1, part = %(part)s, position = %(position)s, parts = %(parts)s,
        left_out = %(left_out)s::jsonb, size = %(size)s
    WHERE account_id = %(account_id)s AND id = %(export_id)s AND step = %(step)s AND state = 'running'
""").changes()
insert_page = query("""
    INSERT INTO exports_pages (account_id, export_id, first_byte, content)
    VALUES (%(account_id)s, %(export_id)s, %(first_byte)s, %(content)s)
""").run()
# The page that has this byte of the content.
find_page = query("""
    SELECT first_byte, content FROM exports_pages
    WHERE account_id = %(account_id)s AND export_id = %(export_id)s AND first_byte <= %(byte)s
    ORDER BY first_byte DESC LIMIT 1
""").one(tuple[int, bytes])
end = query("""
    UPDATE exports_files SET state = %(state)s, code = %(code)s
    WHERE account_id = %(account_id)s AND id = %(export_id)s AND step = %(step)s AND state = 'running'
""").changes()
# By a function of the migrations; the key of each row, and its columns as JSON.
read_rows = query("""
    SELECT key, item FROM exports_read(%(table)s, %(account_id)s, %(hidden)s, %(after)s, %(limit)s, %(size)s)
""").all(tuple[Sequence[str], str])
delete_pages = query("""
    DELETE FROM exports_pages WHERE account_id = %(account_id)s AND export_id = %(export_id)s
""").run()

# One that no worker or decider ended in its time hinders no other.
end_expired = query("""
    UPDATE exports_files SET state = 'failed'
    WHERE account_id = %(account_id)s AND state IN ('asked', 'running') AND created_at <= %(since)s
""").run()
# None while another one is written.
insert_complete = query(f"""
    INSERT INTO exports_files (account_id, id, credential_id, left_out, created_at, is_complete, state)
    VALUES (%(account_id)s, %(export_id)s, %(credential_id)s, %(left_out)s::jsonb, %(now)s, true, 'asked')
    ON CONFLICT (account_id) WHERE state IN ('asked', 'running') AND is_complete DO NOTHING
    RETURNING {COLUMNS}
""").one(Export)
list_complete = query(f"""
    SELECT {COLUMNS} FROM exports_files
    WHERE account_id = %(account_id)s AND is_complete AND created_at > %(since)s ORDER BY id DESC LIMIT %(limit)s
""").all(Export)
confirm = query(f"""
    UPDATE exports_files SET confirmed_by = %(confirmed_by)s, state = %(state)s, created_at = %(now)s
    WHERE account_id = %(account_id)s AND id = %(export_id)s
    RETURNING {COLUMNS}
""").only(Export)
count_collection = query("""
    UPDATE exports_files SET collected = collected + 1
    WHERE account_id = %(account_id)s AND id = %(export_id)s AND collected < %(most)s
""").changes()
