"""How a cluster was initialised, and what a database has: an upgrade makes the same, and compares."""

import psycopg

# `datlocale` is `daticulocale` before PostgreSQL 17.
READ = """
    SELECT pg_encoding_to_char(encoding), datlocprovider::text, datcollate, datctype,
        coalesce(to_jsonb(template) ->> 'datlocale', to_jsonb(template) ->> 'daticulocale'),
        current_setting('data_checksums') = 'on'
    FROM pg_database AS template WHERE datname = 'template0'
"""
# Tables, indexes, sequences and views that are not PostgreSQL's own.
COUNT = "SELECT count(*) FROM pg_class WHERE oid >= 16384 AND relkind IN ('r', 'p', 'i', 'I', 'S', 'v')"
ANALYZE = "ANALYZE"
PROVIDERS = {"b": "builtin", "c": "libc", "i": "icu"}


def read_options(conninfo: str) -> list[str]:
    """Return the options of initdb (PostgreSQL 18 and later) for a cluster like a running one.

    Raise psycopg.Error.
    """
    with psycopg.connect(conninfo, connect_timeout=10) as conn:
        ((encoding, provider, collation, kind, locale, has_checksums),) = conn.execute(READ).fetchall()
    return [
        *(f"--encoding={encoding}", f"--lc-collate={collation}", f"--lc-ctype={kind}"),
        f"--locale-provider={PROVIDERS[provider]}",
        *([] if locale is None else [f"--{PROVIDERS[provider]}-locale={locale}"]),
        "--data-checksums" if has_checksums else "--no-data-checksums",
    ]


def count(conninfo: str, *, analyzes: bool = False) -> int:
    """Return how many tables, indexes, sequences and views a database has. Raise psycopg.Error.

    `analyzes` collects the statistics of all tables first, which takes as long as they are large.
    """
    with psycopg.connect(conninfo, connect_timeout=10, autocommit=True) as conn:
        if analyzes:
            conn.execute(ANALYZE)
        ((number,),) = conn.execute(COUNT).fetchall()
    return int(number)
