"""Dynadot as a customer sees it: names that left, the default of the account, and prices."""

from decimal import Decimal

from builders.demo.registrars.fake import FakeServer
from builders.kit.process.settings import Settings
from tests.cast import Person
from tests.portfolio.domains.make import DOMAINS, add
from tests.portfolio.registrars.make import connect
from tests.portfolio.registrars.reconcile_make import named, report
from tests.portfolio.registrars.sync import INVENTORY, fake_of, held, ok, sync


async def test_a_renewal_by_the_default_of_the_account_is_unknown(
    alice: Person, fakes: FakeServer, worker: Settings
) -> None:
    domain = await add(alice, "a.com", registrar="Dynadot", auto_renew=True)
    await connect(alice, fake_of("dynadot", held("a.com", is_default=True, auto_renew=False)), fakes)
    await sync(alice, worker)
    [listed] = ok(await alice.get(INVENTORY))["items"]
    kept = ok(await alice.get(f"{DOMAINS}/{domain['id']}"))
    assert (listed["auto_renew"], kept["auto_renew"]) == (None, True)
    assert named(await report(alice)) == []


async def test_names_that_left_are_not_held(alice: Person, fakes: FakeServer, worker: Settings) -> None:
    rows = [held("a.com"), held("sold.com", state="moved (sold)"), held("away.com", state="transferaway")]
    await connect(alice, fake_of("dynadot", *rows), fakes)
    await add(alice, "a.com", registrar="Dynadot")
    await sync(alice, worker)
    assert named(await report(alice)) == []
    listed = ok(await alice.get(INVENTORY))["items"]
    assert {each["domain"]: each["status"] for each in listed} == {
        "a.com": "active",
        "away.com": "gone",
        "sold.com": "gone",
    }


async def test_the_price_of_a_renewal_is_listed(alice: Person, fakes: FakeServer, worker: Settings) -> None:
    await connect(alice, fake_of("dynadot", held("a.com", renewal_price=Decimal("10.88"))), fakes)
    await sync(alice, worker)
    [listed] = ok(await alice.get(INVENTORY))["items"]
    assert listed["renewal_price"] == {"amount": "10.88", "currency": "USD"}
