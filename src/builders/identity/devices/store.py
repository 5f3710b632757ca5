"""Requests of machines, which arrive without an account, and the wrong codes of sessions."""

from typing import Any

from builders.identity.devices.records import MAX_OPEN, DeviceRequest, Minting, Polled
from builders.identity.records import Preset
from builders.kit.db.queries import query
from builders.kit.mandates import MANDATE

COLUMNS = "id, host, address, presets, asks_live, asks_agent, expires_at, is_approved"


def _request(presets: list[str], **columns: Any) -> DeviceRequest:
    return DeviceRequest(presets=list(map(Preset, presets)), **columns)


def _minting(test_presets: list[str], live_preset: str | None, mandate: Any, **columns: Any) -> Minting:
    live = None if live_preset is None else Preset(live_preset)
    may = None if mandate is None else MANDATE.validate_python(mandate)
    return Minting(test_presets=list(map(Preset, test_presets)), live_preset=live, mandate=may, **columns)


# Without the lock, concurrent transactions would not count each other's requests.
lock_requests = query("SELECT pg_advisory_xact_lock(hashtextextended('identity_devices_requests', 0))").run()
# False when MAX_OPEN requests are open, or another request has the same code.
insert_request = query("""
    INSERT INTO identity_devices_requests
        (id, device_code_hash, user_code_hash, host, address, presets, asks_live, asks_agent, expires_at,
         interval_s)
    SELECT %(request_id)s, %(device_code_hash)s, %(user_code_hash)s, %(host)s, %(address)s, %(presets)s,
           %(asks_live)s, %(asks_agent)s, %(expires_at)s, %(interval_s)s
    WHERE %(max_open)s > (SELECT count(*) FROM identity_devices_requests WHERE expires_at > %(now)s)
    ON CONFLICT DO NOTHING
""").changes(max_open=MAX_OPEN)
# None when the session has typed `most` wrong codes.
# The try is counted and committed before the code is compared: concurrent requests get no additional tries.
count_try = query("""
    INSERT INTO identity_devices_tries AS own (account_id, session_id, wrong)
    VALUES (%(account_id)s, %(session_id)s, 1)
    ON CONFLICT (account_id, session_id) DO UPDATE SET wrong = own.wrong + 1 WHERE own.wrong < %(most)s
    RETURNING wrong
""").scalar(int)
take_back_try = query("""
    UPDATE identity_devices_tries SET wrong = wrong - 1
    WHERE account_id = %(account_id)s AND session_id = %(session_id)s
""").run()
# The account whose person types a code last has the request.
find_by_code = query(f"""
    UPDATE identity_devices_requests SET account_id = %(account_id)s
    WHERE user_code_hash = ANY(%(hashes)s) AND is_approved IS NULL AND expires_at > %(now)s
    RETURNING {COLUMNS}
""").one(_request)
end_requests = query("""
    UPDATE identity_devices_requests SET expires_at = %(now)s
    WHERE account_id = %(account_id)s AND expires_at > %(now)s
""").run()
find_request = query(f"""
    SELECT {COLUMNS} FROM identity_devices_requests
    WHERE id = %(request_id)s AND account_id = %(account_id)s
""").one(_request)
# None when the request was decided, has expired, or belongs to another account: of two decisions, one succeeds. A
# denial also takes back an approval whose keys were not created.
find_decided = query(f"""
    UPDATE identity_devices_requests
    SET is_approved = %(is_approved)s, session_id = %(session_id)s, test_presets = %(test_presets)s,
        live_preset = %(live_preset)s, mandate = %(mandate)s, expires_at = greatest(expires_at, %(collect_until)s)
    WHERE id = %(request_id)s AND account_id = %(account_id)s
      AND (is_approved IS NULL OR is_approved AND minted_at IS NULL AND NOT %(is_approved)s)
      AND expires_at > %(now)s
    RETURNING {COLUMNS}
""").one(_request)
find_polled = query("""
    WITH before AS (
        SELECT id, coalesce(polled_at + (interval_s - %(tolerance_s)s) * interval '1 second' > %(now)s, false)
               AS is_early
        FROM identity_devices_requests WHERE device_code_hash = ANY(%(hashes)s) FOR NO KEY UPDATE
    )
    UPDATE identity_devices_requests AS request
    SET polled_at = %(now)s,
        interval_s = CASE WHEN is_early THEN least(interval_s + %(step_s)s, %(max_s)s) ELSE interval_s END
    FROM before WHERE request.id = before.id
    RETURNING request.id, expires_at, is_approved, is_early, interval_s
""").one(Polled)
# None when the keys were created, and the time to repeat the response has passed. The row stays locked.
find_minting = query("""
    UPDATE identity_devices_requests SET minted_at = coalesce(minted_at, %(now)s), mintings = mintings + 1
    WHERE id = %(request_id)s AND is_approved
      AND (minted_at IS NULL AND expires_at > %(now)s OR minted_at > %(since)s AND mintings < %(most)s)
    RETURNING id, account_id, session_id, host, address, test_presets, live_preset, mandate, mintings,
              key_ids
""").one(_minting)
set_keys = query("""
    UPDATE identity_devices_requests SET key_ids = %(key_ids)s
    WHERE id = %(request_id)s AND account_id = %(account_id)s
""").run()
