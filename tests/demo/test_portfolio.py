"""The content of the demo portfolio, and the reports about it."""

from collections import Counter
from datetime import date, timedelta
from typing import Any

import pytest

from builders.demo.portfolio import add_portfolio, list_entries, list_renewals, read_domains
from builders.identity.records import Preset
from builders.kit.db.connections import Conn, Database
from builders.kit.values import clock, ids
from tests.cast import Person
from tests.conftest import MakePerson

TODAY = date(2028, 2, 29)
COUNT_DUE = "SELECT count(*) FROM portfolio_domains WHERE account_id = %s AND rdap_due_at IS NOT NULL"


@pytest.fixture
async def alice(people: MakePerson) -> Person:
    return await people("alice", Preset.DOMAINER_FULL)


def test_a_domain_is_renewed_once_a_year_while_it_is_held() -> None:
    for row in read_domains(TODAY):
        renewals = list(list_renewals(row))
        assert all(row.acquired_on < day <= row.held_until for day in renewals), row.name
        held = (min(row.expires_on, row.held_until) - row.acquired_on).days
        assert held // 365 - 1 <= len(renewals) <= held // 365 + 1, row.name


def test_the_history_is_deterministic_and_ends_today() -> None:
    first, second = ([*list_entries(row, ids.NIL)] for row in [read_domains(TODAY)[0]] * 2)
    assert first == second
    days = [entry.occurred_on for row in read_domains(TODAY) for entry in list_entries(row, ids.NIL)]
    assert TODAY - timedelta(days=3 * 366) < min(days)
    assert max(days) == TODAY


async def test_no_report_is_empty(alice: Person, database: Database, conn: Conn) -> None:
    for is_added in (True, False):
        async with database.transaction() as own:
            assert await add_portfolio(own, account_id=alice.account.id) is is_added

    async def get(path: str) -> dict[str, Any]:
        answer = await alice.get(f"/v1/portfolio/{path}")
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    listed = [*(await get("domains?limit=100"))["items"]]
    listed += (await get("domains?limit=100&sort=domain"))["items"]
    assert len(read_domains(clock.now().date())) == 200
    assert {"com", "de", "co.uk"} <= {each["tld"] for each in listed}
    assert len((await get("tags"))["items"]) >= 5
    states = Counter[str]()
    for status in ("owned", "listed", "leased", "consigned", "sold", "dropped"):
        items = (await get(f"domains?status={status}&limit=100"))["items"]
        assert items, status
        states.update(each["lifecycle"] for each in items)
    assert {"active", "expiring", "grace", "redemption", "pending_delete"} <= states.keys()
    assert (await get("domains?expiring_within_days=30"))["items"]
    summary = await get("summary")
    assert {each["currency"] for each in summary["by_currency"]} == {"EUR", "GBP", "USD"}
    parking = await get("parking?days=90&group_by=provider")
    assert len(parking["items"]) == 3
    sold = await get("domains/northwagon.org/finance")
    assert len(sold["sale"]["installments"]) == 5
    consigned = await get("domains/pinecrew.com/finance")
    assert consigned["sale"]["net"]["amount"] == "1326.00"  # 30 %
    leased = (await get("domains?status=leased"))["items"][0]
    assert float(leased["finance"]["net_position"]["amount"]) > 0
    assert await (await conn.execute(COUNT_DUE, [alice.account.id])).fetchone() == (0,)
