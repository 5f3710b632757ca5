"""How a cluster was initialised, and what a database has: an upgrade makes the same, and compares."""

from dataclasses import dataclass

import psycopg

# `datlocale` is `daticulocale` before PostgreSQL 17.
READ = """
    SELECT pg_encoding_to_char(encoding), datlocprovider::text, datcollate, datctype,
        coalesce(to_jsonb(template) ->> 'datlocale', to_jsonb(template) ->> 'daticulocale'),
        current_setting('data_checksums') = 'on'
    FROM pg_database AS template WHERE datname = 'template0'
"""
# Tables, indexes and sequences that are not PostgreSQL's own.
COUNT = "SELECT count(*) FROM pg_class WHERE oid >= 16384 AND relkind IN ('r', 'p', 'i', 'I', 'S', 'v')"
ANALYZE = "ANALYZE"
PROVIDERS = {"b": "builtin", "c": "libc", "i": "icu"}


@dataclass(frozen=True, slots=True)
class Layout:
    """What the folder of a cluster has from its beginning."""

    encoding: str
    provider: str
    collation: str
    character_type: str
    locale: str | None
    has_checksums: bool

    def options(self) -> list[str]:
        """Return the options of initdb (PostgreSQL 17 and later) for a cluster of the same layout."""
        name = PROVIDERS[self.provider]
        return [
            *(
                f"--encoding={self.encoding}",
                f"--lc-collate={self.collation}",
                f"--lc-ctype={self.character_type}",
            ),
            f"--locale-provider={name}",
            *([] if self.locale is None else [f"--{name}-locale={self.locale}"]),
            "--data-checksums" if self.has_checksums else "--no-data-checksums",
        ]


def read(conninfo: str) -> Layout:
    """Return the layout of a running server. Raise psycopg.Error."""
    with psycopg.connect(conninfo, connect_timeout=10) as conn:
        row = conn.execute(READ).fetchone()
    assert row is not None  # noqa: S101 - each server has this database
    return Layout(*row)


def count(conninfo: str) -> int:
    """Return how many tables, indexes, sequences and views a database has. Raise psycopg.Error."""
    with psycopg.connect(conninfo, connect_timeout=10) as conn:
        row = conn.execute(COUNT).fetchone()
    return 0 if row is None else int(row[0])


def analyze(conninfo: str) -> None:
    """Collect the statistics of all tables, which takes as long as they are large. Raise psycopg.Error."""
    with psycopg.connect(conninfo, connect_timeout=10, autocommit=True) as conn:
        conn.execute(ANALYZE)
