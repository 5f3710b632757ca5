"""SQL of erasures. `kit/db/account_tables.py` lists the tables."""

from uuid import UUID

from builders.erasure.records import ErasureRequest
from builders.kit.db.columns import columns_of
from builders.kit.db.queries import due_rows, query

COLUMNS = columns_of(ErasureRequest)

# By a function of the migrations, which deletes rows of accounts whose erasure has begun only.
delete_rows = query("""
    SELECT identity_erase(%(table)s, %(owner)s, %(account_id)s, %(most)s)
""").value(int)
# Of an address; later ones are of another account.
delete_sign_ins = query("""
    DELETE FROM identity_sign_ins WHERE address = %(email)s AND requested_at <= %(until)s
""").count()
# Those that run end by themselves, as this one does.
delete_jobs = query("""
    DELETE FROM procrastinate_jobs
    WHERE args ->> 'account_id' = ANY(%(account_ids)s::text[]) AND status <> 'doing' AND task_name <> %(task)s
""").count()

# Without one that too few have confirmed in time.
find = query(f"""
    SELECT {COLUMNS} FROM erasure_requests
    WHERE account_id = %(account_id)s AND (due_at IS NOT NULL OR requested_at > %(since)s)
""").one(ErasureRequest)
insert = query(f"""
    INSERT INTO erasure_requests (account_id, id, confirmed_by, requested_at)
    VALUES (%(account_id)s, %(request_id)s, '{{}}', %(now)s)
    ON CONFLICT (account_id) DO UPDATE
    SET id = excluded.id, confirmed_by = excluded.confirmed_by, requested_at = excluded.requested_at
    RETURNING {COLUMNS}
""").only(ErasureRequest)
set_confirmed = query("""
    UPDATE erasure_requests SET confirmed_by = %(confirmed_by)s WHERE account_id = %(account_id)s
""").run()
schedule = query("""
    UPDATE erasure_requests SET due_at = %(due_at)s, next_at = %(next_at)s, emails = %(emails)s
    WHERE account_id = %(account_id)s
""").run()
delete_request = query("DELETE FROM erasure_requests WHERE account_id = %(account_id)s").changes()
list_due = due_rows("erasure_requests", by="next_at", columns="account_id").scalars(UUID)
put_address = query("""
    INSERT INTO erasure_addresses (account_id, email, changed_at) VALUES (%(account_id)s, %(email)s, %(at)s)
    ON CONFLICT (account_id, email) DO UPDATE SET changed_at = excluded.changed_at
""").run()
list_addresses = query("""
    SELECT email FROM erasure_addresses WHERE account_id = %(account_id)s AND changed_at > %(since)s ORDER BY email
""").scalars(str)
