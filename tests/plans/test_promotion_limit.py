"""An account makes 1,000 promotions in a day at most."""

from datetime import timedelta
from uuid import UUID

import pytest

from builders.kit.db.connections import Conn
from builders.kit.values import clock, ids
from builders.plans.promotion.start import MAX_PER_DAY
from tests.cast import Person
from tests.plans.make import PROMOTE, alias, plan, promote, promotion_request
from tests.plans.test_list import COPY

FILL = """
    WITH promoted AS (
        UPDATE plans SET status = 'promoted'
        WHERE account_id = %(account_id)s AND id <> ALL(%(open)s::uuid[])
        RETURNING account_id, id, created_by, created_at
    )
    INSERT INTO plans_promotions (account_id, id, plan_id, status, on_error, created_by, started_at, finished_at)
    SELECT account_id, id, id, 'succeeded', 'stop', created_by, created_at, created_at FROM promoted
"""


@pytest.mark.maximum("promotions")
async def test_the_promotions_of_a_day_are_limited(alice: Person, conn: Conn, domain: str) -> None:
    first = await plan(alice, alias(f"ada@{domain}"))
    await conn.execute(COPY, {"id": first["id"], "count": MAX_PER_DAY - 1})
    await conn.execute(FILL, {"open": [first["id"]], "account_id": alice.account.id})
    await promote(alice, first)
    assert (await alice.post(PROMOTE, json=promotion_request(first))).status_code == 200  # the same promotion
    second = await plan(alice, alias(f"ada@{domain}"), alias(f"bob@{domain}"))
    refused = await alice.post(PROMOTE, json=promotion_request(second))
    assert (refused.status_code, refused.json()["code"]) == (429, "promotion_limit")
    assert refused.json()["next_action"]
    last = ids.time_of(UUID(second["id"]))  # ahead of the clock, if an earlier test moved it
    clock.move(last - clock.now() + timedelta(days=1, seconds=1))
    await promote(alice, await plan(alice, alias(f"bob@{domain}"), name="other"))
