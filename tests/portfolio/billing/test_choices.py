"""What the parameters of charges, templates and syncs choose, and what they refuse."""

import pytest

from tests.cast import Person
from tests.portfolio.billing.make import (
    APPLY,
    BILLING,
    CHARGES,
    add_domains,
    apply,
    bill,
    charges,
    entries,
    line,
    ok,
)
from tests.portfolio.team.make import code

TEMPLATES = f"{BILLING}/templates"


async def open_charge(alice: Person) -> str:
    """Record a charge of a domain that is added afterwards; return its id."""
    await bill(alice, line("10.00", "harbour.com"))
    await add_domains(alice, "harbour.com")
    [found] = (await charges(alice))["items"]
    return str(found["id"])


async def test_an_unknown_registrar_is_not_synced(alice: Person) -> None:
    answer = await alice.post(f"{BILLING}/sync", json={"providers": ["nobody"]})
    assert code(answer) == (404, "provider_not_found")


async def test_a_registrar_without_a_connection_is_not_refreshed(alice: Person) -> None:
    answer = await alice.post(f"{BILLING}/ensure", json={"providers": ["godaddy"]})
    assert code(answer) == (409, "not_connected")


async def test_a_portfolio_without_connections_has_nothing_to_refresh(alice: Person) -> None:
    found = ok(await alice.post(f"{BILLING}/ensure", json={}))
    assert (found["providers"], found["inventory"], found["billing"]) == ([], None, None)


async def test_the_template_of_a_registrar_is_found_by_its_name(alice: Person) -> None:
    found = ok(await alice.get(TEMPLATES, params={"provider": "Cloudflare"}))
    assert {each["provider"] for each in found["items"]} == {"cloudflare"}


async def test_a_registrar_without_a_template_has_the_generic_one(alice: Person) -> None:
    [found] = ok(await alice.get(TEMPLATES, params={"provider": "nobody"}))["items"]
    assert (found["id"], found["provider"]) == ("generic", None)


async def test_a_template_is_downloaded_as_a_file(alice: Person) -> None:
    [shown] = ok(await alice.get(TEMPLATES, params={"provider": "cloudflare"}))["items"]
    answer = await alice.get(TEMPLATES, params={"provider": "cloudflare", "format": "csv"})
    assert answer.text == shown["sample_csv"]
    assert answer.headers["content-disposition"] == 'attachment; filename="cloudflare.csv"'


async def test_the_charges_of_a_stranger_are_not_applied(alice: Person, bob: Person) -> None:
    charge_id = await open_charge(alice)
    assert (await apply(bob, ids=[charge_id]))["examined"] == 0
    assert await entries(alice) == []


async def test_a_dry_run_books_nothing(alice: Person) -> None:
    await open_charge(alice)
    done = await apply(alice, dry_run=True)
    assert (done["applied"], done["dry_run"], done["results"][0]["entry_id"]) == (1, True, None)
    assert await entries(alice) == []


async def test_a_higher_certainty_leaves_the_charge_as_a_suggestion(alice: Person) -> None:
    await open_charge(alice)
    done = await apply(alice, min_confidence=1)
    assert (done["applied"], done["still_unmatched"]) == (0, 1)
    assert done["results"][0]["outcome"] == "suggested"


async def test_an_ignored_charge_is_not_examined(alice: Person) -> None:
    charge_id = await open_charge(alice)
    ok(await alice.patch(f"{CHARGES}/{charge_id}", json={"ignored": True}))
    assert (await apply(alice))["examined"] == 0


@pytest.mark.parametrize(("parameter", "value"), [("min_confidence", "1.1"), ("ids", "harbour.com")])
async def test_a_value_out_of_bounds_is_refused(alice: Person, parameter: str, value: str) -> None:
    answer = await alice.post(APPLY, params={parameter: value})
    assert answer.status_code == 422
    assert answer.json()["detail"][0]["loc"][:2] == ["query", parameter]


async def test_a_period_chooses_charges_by_their_day(alice: Person) -> None:
    await bill(alice, line("10.00", "harbour.com"))
    assert (await charges(alice, to="2020-01-01"))["count"] == 0
