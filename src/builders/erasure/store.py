"""SQL of erasures. `kit/db/account_tables.py` lists the tables."""

from builders.kit.db.queries import query

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
