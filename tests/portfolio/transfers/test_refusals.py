"""Transfers and auth codes that are refused."""

import pytest

from tests.cast import Person
from tests.portfolio.domains.make import DOMAINS
from tests.portfolio.parking.make import add_domains
from tests.portfolio.team.make import code, join, of
from tests.portfolio.transfers.make import published, report


@pytest.mark.parametrize(("method", "path"), [("GET", "transfer"), ("POST", "auth-code")])
async def test_an_unknown_domain_is_not_found(alice: Person, method: str, path: str) -> None:
    answer = await alice.request(method, f"{DOMAINS}/nobodys.com/{path}")
    assert code(answer) == (404, "portfolio_domain_not_found")


@pytest.mark.parametrize(("method", "path"), [("GET", "transfer"), ("POST", "auth-code")])
async def test_a_stranger_learns_nothing(alice: Person, bob: Person, method: str, path: str) -> None:
    [domain_id] = (await add_domains(alice, "harbour.com")).values()
    answer = await bob.request(method, f"{DOMAINS}/{domain_id}/{path}")
    assert code(answer) == (404, "portfolio_domain_not_found")


async def test_a_viewer_reads_the_transfer(alice: Person, charlie: Person) -> None:
    await add_domains(alice, "harbour.com")
    await join(alice, charlie)
    assert (await report(charlie, headers=of(alice)))["domain"] == "harbour.com"


async def test_a_viewer_gets_no_auth_code(alice: Person, charlie: Person) -> None:
    await add_domains(alice, "harbour.com")
    await join(alice, charlie)
    answer = await charlie.post(f"{DOMAINS}/harbour.com/auth-code", headers=of(alice))
    assert code(answer) == (403, "forbidden_role")


async def test_a_domain_without_a_connection_names_its_registrar(alice: Person) -> None:
    await add_domains(alice, "harbour.com", registrar="Gandi")
    answer = await alice.post(f"{DOMAINS}/harbour.com/auth-code")
    assert code(answer) == (409, "not_connected")
    assert answer.json()["next_action"].startswith("Request the code at Gandi.")


async def test_a_refused_request_publishes_nothing(alice: Person) -> None:
    await add_domains(alice, "harbour.com")
    await alice.post(f"{DOMAINS}/harbour.com/auth-code")
    assert await published(alice) == []


async def test_a_reason_is_limited(alice: Person) -> None:
    await add_domains(alice, "harbour.com")
    answer = await alice.post(f"{DOMAINS}/harbour.com/auth-code", params={"reason": "x" * 201})
    assert answer.json()["detail"][0]["loc"] == ["query", "reason"]


async def test_a_domain_without_a_connection_has_three_sources(alice: Person) -> None:
    await add_domains(alice, "harbour.com")
    sources = (await report(alice))["sources"]
    assert [each["name"] for each in sources] == ["rdap", "portfolio", "rules"]
