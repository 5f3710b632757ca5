"""Whether the secret keys are those that sealed what is in the database.

A start with a lost or foreign file of keys would make new ones, and find out about each stored secret only when it
is needed.
"""

from datetime import datetime

import psycopg

from builders.kit.process.secret_keys import Keyring
from builders.kit.values import clock

PURPOSE, CONTENT = "known_keys", b"builders"
LOCK = "LOCK TABLE kit_secret_keys IN SHARE ROW EXCLUSIVE MODE"  # two machines can start for the first time
FIND_LAST = "SELECT signature FROM kit_secret_keys ORDER BY used_at DESC, signature LIMIT 1"
RECORD = """
    INSERT INTO kit_secret_keys (signature, used_at) VALUES (%s, %s)
    ON CONFLICT (signature) DO UPDATE SET used_at = excluded.used_at
"""
FIND_SAVED = "SELECT saved_at FROM kit_secret_keys ORDER BY used_at DESC, signature LIMIT 1"
NOTE_SAVED = "UPDATE kit_secret_keys SET saved_at = %s WHERE signature = %s"
FORGET = "DELETE FROM kit_secret_keys"
ACTION = (
    "Restore the file secret_keys in BUILDERS_DATA_DIR, or set BUILDERS_SECRET_KEYS as before. If the keys are "
    "lost: `builders secrets replace-lost`."
)


class OtherKeys(Exception):
    """The secret keys are not those of the database; the message says what to do."""

    reason, next_action = "The secret keys are not those that sealed the data in this database.", ACTION


def check(conninfo: str, *, keyring: Keyring | None) -> None:
    """Raise OtherKeys unless the keyring has the key that was the first at the last start, or there was none.

    `keyring` is None while no key exists.
    """
    with psycopg.connect(conninfo) as conn:
        _check(conn, keyring)


def record(conninfo: str, *, keyring: Keyring, replaces: bool = False) -> None:
    """Record that the first key is in use, after the check; with `replaces` without it. Raise OtherKeys."""
    with psycopg.connect(conninfo) as conn:
        conn.execute(LOCK)
        if replaces:
            conn.execute(FORGET)
        _check(conn, keyring)
        conn.execute(RECORD, [keyring.sign(PURPOSE, CONTENT), clock.now()])


def note_saved(conninfo: str, *, keyring: Keyring) -> None:
    """Note that the first key was saved."""
    with psycopg.connect(conninfo) as conn:
        conn.execute(NOTE_SAVED, [clock.now(), keyring.sign(PURPOSE, CONTENT)])


def find_saved(conninfo: str) -> datetime | None:
    """Return when the key that was the first at the last start was saved; None: never."""
    with psycopg.connect(conninfo) as conn:
        found = conn.execute(FIND_SAVED).fetchone()
    return None if found is None else found[0]


def _check(conn: psycopg.Connection, keyring: Keyring | None) -> None:
    last = conn.execute(FIND_LAST).fetchone()
    if last is not None and (keyring is None or not keyring.verify(PURPOSE, CONTENT, last[0])):
        raise OtherKeys
