"""The maximum of charges of a portfolio."""

import pytest

from builders.demo.registrars.fake import FakeAccount, FakeServer
from builders.kit.process.settings import Settings
from builders.portfolio.billing import bills
from tests.cast import Person
from tests.portfolio.billing.make import IMPORT, charges, database_of, ok
from tests.portfolio.billing.test_sync import SYNC, purchase
from tests.portfolio.registrars.make import REGISTRARS, connect
from tests.portfolio.registrars.sync import read, work
from tests.portfolio.team.make import code
from tests.registrars.fakes import FAKES

ROWS = [
    {"date": "2026-03-01", "domain": f"d{number}.com", "amount": "10.98", "order id": str(number)}
    for number in range(4)
]


FILL = """
    INSERT INTO portfolio_billing_charges (
        account_id, id, key, provider, order_id, line_id, charged_on, description, name_origin, kind, total, tax,
        fees, currency, source, run_id, imported_at
    )
    SELECT %(account_id)s, gen_random_uuid(), number::text::bytea, 'gandi', number, '1', now(), '', 'text',
        'other', 1, 0, 0, 'USD', 'import', %(account_id)s, now()
    FROM generate_series(1, %(count)s) AS number
"""


def have_at_most(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    """Lower the maximum of a real account."""

    def lower(*, is_sandbox: bool) -> int:
        return bills.MAX_SANDBOX_CHARGES if is_sandbox else most

    monkeypatch.setattr(bills, "max_charges", lower)


@pytest.mark.maximum("charges")
async def test_a_sync_of_charges_stops_at_the_maximum_and_begins_there_again(
    alice: Person, fakes: FakeServer, worker: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    have_at_most(monkeypatch, 3)
    fake = FAKES["namesilo"](FakeAccount(orders=[purchase(str(number), f"d{number}.com") for number in range(4)]))
    await connect(alice, fake, fakes)
    run = ok(await alice.post(SYNC, json={}, params={"wait": 0}))
    await work(alice, worker)
    [part] = (await read(alice, run))["providers"]
    assert (part["state"], part["error"]["code"]) == ("failed", "charge_limit")
    assert "at most 3 charges" in part["error"]["hint"]
    assert (await charges(alice))["count"] == 0  # the batch that exceeds it
    [item] = [each for each in ok(await alice.get(REGISTRARS))["items"] if each["connected"]]
    assert (item["last_billing_sync_at"], item["status"]) == (None, "never_synced")
    have_at_most(monkeypatch, 4)
    ok(await alice.post(SYNC, json={}, params={"wait": 0}))
    await work(alice, worker)
    assert (await charges(alice))["count"] == 4


async def test_charges_that_are_known_are_within_the_maximum(
    alice: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    ok(await alice.post(IMPORT, json={"rows": ROWS}))
    have_at_most(monkeypatch, 3)
    ok(await alice.post(IMPORT, json={"rows": ROWS}))


async def test_an_import_of_charges_stops_at_the_maximum(alice: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    have_at_most(monkeypatch, 3)
    answer = await alice.post(IMPORT, json={"rows": ROWS})
    assert code(answer) == (409, "charge_limit")
    assert answer.json()["next_action"]
    assert (await charges(alice))["count"] == 0


@pytest.mark.maximum("sandbox_charges")
async def test_a_test_key_has_a_lower_maximum_of_charges(alice: Person) -> None:
    ok(await alice.test.post(IMPORT, json={"rows": ROWS[:1]}))
    row = {"account_id": alice.account.sandbox_id, "count": bills.MAX_SANDBOX_CHARGES - 1}
    async with database_of(alice).transaction() as conn:
        await conn.execute(FILL, row)
    assert code(await alice.test.post(IMPORT, json={"rows": ROWS})) == (409, "charge_limit")
    assert code(await alice.test.post(IMPORT, json={"rows": ROWS[1:2]})) == (409, "charge_limit")
    ok(await alice.test.post(IMPORT, json={"rows": ROWS[:1]}))
