"""The undo of an import."""

from datetime import timedelta

import pytest

from builders.kit.values import clock
from tests.cast import Person
from tests.portfolio.domains.make import DOMAINS, add
from tests.portfolio.imports.make import EXPORT, IMPORTS, load, ok, undo
from tests.portfolio.team.make import code

TEXT = (
    "domain,folder,tags,expires,price,cost,bought\n"
    "harbour.com,New,b,2027-01-01,9,5,2024-01-01\nlantern.com,New,b,,,7,2024-01-02\n"
)


async def test_an_undo_restores_what_was_there(alice: Person) -> None:
    bought = {"amount": "5.00", "currency": "USD", "on": "2020-01-01"}
    await add(alice, "harbour.com", folder="Old", tags=["a"], expires_at="2026-12-24T00:00:00Z", purchase=bought)
    before = (await alice.get(EXPORT)).text
    imported = await load(alice, TEXT)
    assert (await alice.get(EXPORT)).text != before
    undone = await undo(alice, imported)
    assert (undone["state"], undone["undo"]) == ("undone", {"rows": 2, "removed": 1, "restored": 1, "kept": 0})
    assert (await alice.get(EXPORT)).text == before
    again = await undo(alice, imported)
    assert again == undone


async def test_what_was_changed_since_is_kept(alice: Person) -> None:
    await add(alice, "harbour.com", folder="Old", tags=["a"])
    imported = await load(alice, TEXT)
    ok(await alice.patch(f"{DOMAINS}/harbour.com", json={"folder": "Newest"}))
    assert (await undo(alice, imported))["undo"] == {"rows": 2, "removed": 1, "restored": 0, "kept": 1}
    domain = ok(await alice.get(f"{DOMAINS}/harbour.com"))
    assert (domain["folder"], domain["tags"], domain["expires_at"]) == ("Newest", ["a"], None)


async def test_a_domain_that_was_removed_since_stays_away(alice: Person) -> None:
    imported = await load(alice, TEXT)
    assert (await alice.delete(f"{DOMAINS}/harbour.com?history=delete")).status_code == 204
    assert (await undo(alice, imported))["undo"]["removed"] == 1
    assert len((await alice.get(EXPORT)).text.splitlines()) == 1
    assert [each["outcome"] for each in (await load(alice, TEXT))["results"]] == ["created", "created"]


async def test_an_import_can_be_undone_for_a_day(alice: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    imported = await load(alice, TEXT)
    late = clock.now() + timedelta(hours=24, seconds=1)
    monkeypatch.setattr(clock, "now", lambda: late)
    refused = await alice.post(f"{IMPORTS}/{imported['import_id']}/undo")
    assert code(refused) == (409, "import_final")
