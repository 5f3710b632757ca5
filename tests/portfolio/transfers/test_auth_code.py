"""Requests for auth codes: who may, how they are delivered, and that no code stays behind."""

from datetime import timedelta
from typing import Any

import httpx
import psycopg
import pytest
from psycopg import sql

from builders.demo.registrars.fake import FakeServer, Fault
from builders.identity.records import Preset
from builders.kit.events import dispatcher
from builders.kit.jobs import queue
from builders.kit.process.settings import Settings
from builders.kit.values import clock
from tests.cast import Client, Person
from tests.conftest import MakePerson
from tests.portfolio.domains.make import DOMAINS, add
from tests.portfolio.registrars.make import database_of
from tests.portfolio.team.make import code, join, of
from tests.portfolio.transfers.make import PLANTED, add_held, published, report

pytestmark = pytest.mark.usefixtures("reach")
PATH = f"{DOMAINS}/harbour.com/auth-code"


async def request(person: Client, path: str = PATH, query: Any = None, **headers: str) -> httpx.Response:
    return await person.post(path, params=query, headers=headers)


async def test_a_refusal_is_shown_in_the_words_of_the_registrar(alice: Person, fakes: FakeServer) -> None:
    account = await add_held(alice, fakes, "dynadot")
    account.domains[0].state = "60-day lock"
    refused = await request(alice)
    assert (refused.status_code, refused.json()["code"]) == (424, "provider_refused")
    assert refused.json()["next_action"] == "Dynadot: The domain has the 60-day transfer lock."


async def test_the_code_is_returned_once_and_kept_nowhere(
    alice: Person,
    fakes: FakeServer,
    settings: Settings,
    conninfo: str,
    capfd: pytest.CaptureFixture[str],
) -> None:
    await add_held(alice, fakes, locked=False)
    first = await request(alice, PATH, {"reason": "Sold to Dana."}, **{"Idempotency-Key": "one"})
    assert first.status_code == 200, first.text
    assert first.headers["cache-control"] == "no-store"
    found = first.json()
    assert (found["auth_code"], found["delivery"], found["provider"]) == (PLANTED, "returned", "spaceship")
    assert found["expires_at"] == "2027-01-01T00:00:00Z"
    assert found["eligibility"] == {"transferable": True, "eligible_at": None, "blocked_by": []}
    again = await request(alice, PATH, {"reason": "Sold to Dana."}, **{"Idempotency-Key": "one"})
    assert again.headers["idempotent-replayed"] == "true"
    assert "auth_code" not in again.json()
    assert again.json()["audit_id"] == found["audit_id"]
    [entry] = (await alice.get("/v1/account/audit", params={"action": "auth_code.requested"})).json()["items"]
    assert (entry["id"], entry["about"]["reason"]) == (found["audit_id"], "Sold to Dana.")
    assert [(name, data["delivery"]) for name, data in await published(alice)] == [
        ("auth_code.requested", "pending"),
        ("auth_code.delivered", "returned"),
    ]
    shown = await report(alice)
    assert shown["auth_code"]["delivery"] == "returned"
    async with database_of(alice).transaction() as conn:
        while await dispatcher.dispatch(conn):
            pass
    await queue.run_pending(database_of(alice), settings)
    assert PLANTED not in again.text + str(shown) + str(entry) + str(await published(alice))
    out, err = capfd.readouterr()
    assert PLANTED not in out + err
    with psycopg.connect(conninfo) as plain:
        assert [name for name in tables(plain) if holds(plain, name, PLANTED)] == []


def tables(conn: psycopg.Connection) -> list[str]:
    query = "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
    return [name for (name,) in conn.execute(query).fetchall()]


def holds(conn: psycopg.Connection, table: str, text: str) -> bool:
    """Return whether a row contains a text, also as the bytes of a bytea."""
    query = sql.SQL(
        "SELECT EXISTS (SELECT FROM {} AS row WHERE strpos(row::text, %s) > 0 OR strpos(row::text, %s) > 0)"
    )
    [found] = conn.execute(query.format(sql.Identifier(table)), [text, text.encode().hex()]).fetchone() or [True]
    return bool(found)


@pytest.mark.parametrize(
    ("provider", "delivery", "words"),
    [
        ("gandi", "returned", "Keep it secret"),
        ("namesilo", "emailed", "sends the code by email"),
        ("porkbun", "dashboard", "Sign in at Porkbun (https://"),
    ],
)
async def test_registrars_deliver_in_their_own_way(
    alice: Person, fakes: FakeServer, provider: str, delivery: str, words: str
) -> None:
    account = await add_held(alice, fakes, provider)
    found = (await request(alice, PATH, {"unlock": True, "regenerate": True})).json()
    assert found["delivery"] == delivery
    assert (found["auth_code"] == PLANTED) == (delivery == "returned")
    assert words in found["instructions"][0]
    assert len(found["instructions"]) == 3
    assert [(each["field"], each["code"]) for each in found["warnings"]] == [
        ("unlock", "not_done"),
        ("regenerate", "not_done"),
    ]
    assert account.requests == {"gandi": 2, "namesilo": 3, "porkbun": 1}[provider]
    names = [name for name, _ in await published(alice)]
    assert ("auth_code.delivered" in names) == (delivery != "dashboard")


async def test_a_domain_under_uk_moves_by_tag(alice: Person, fakes: FakeServer) -> None:
    account = await add_held(alice, fakes, domain="harbour.co.uk")
    found = (await request(alice, f"{DOMAINS}/harbour.co.uk/auth-code")).json()
    assert (found["delivery"], found["auth_code"], account.requests) == ("unsupported", None, 2)
    assert "IPS tag" in found["instructions"][0]


@pytest.mark.maximum("auth_codes")
async def test_five_requests_in_an_hour(alice: Person, fakes: FakeServer) -> None:
    await add_held(alice, fakes)
    start = clock.now()
    for minute in range(5):
        with clock.moved(timedelta(minutes=minute)):
            assert (await request(alice)).status_code == 200
    with clock.moved(timedelta(minutes=30)):
        refused = await request(alice)
        assert code(refused) == (429, "auth_code_limit")
        assert 1740 < int(refused.headers["retry-after"]) <= 1800
    with clock.moved(timedelta(hours=1, seconds=5)):
        assert (await request(alice)).status_code == 200
        assert code(await request(alice)) == (429, "auth_code_limit")
    assert clock.now() - start < timedelta(minutes=1)
    assert len(await published(alice)) == 12


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        (Fault.BAD_KEY, (424, "provider_auth_failed")),
        (Fault.RATE_LIMITED, (429, "provider_rate_limited")),
        (Fault.SERVER_ERROR, (502, "provider_unavailable")),
        (Fault.REFUSED, (424, "provider_refused")),
    ],
)
async def test_a_failure_of_the_registrar(
    alice: Person, fakes: FakeServer, fault: Fault, expected: tuple[int, str]
) -> None:
    account = await add_held(alice, fakes)
    account.faults.extend([fault] * 3)
    refused = await request(alice)
    assert code(refused) == expected
    assert ("retry_after" in refused.json()) == (expected[0] == 429)
    assert ("blocked_by" in refused.json()) == (fault is Fault.REFUSED)
    assert [name for name, _ in await published(alice)] == ["auth_code.requested"]
    account.faults.clear()
    assert (await report(alice))["auth_code"]["delivery"] == "pending"


async def test_without_a_connection_there_is_no_code(alice: Person) -> None:
    await add(alice, registrar="Joker")
    refused = await request(alice)
    assert code(refused) == (409, "not_connected")
    assert "Joker" in refused.json()["next_action"]
    assert await published(alice) == []
    assert code(await request(alice, f"{DOMAINS}/missing.com/auth-code")) == (404, "portfolio_domain_not_found")


async def test_owners_and_admins_alone_get_codes(
    alice: Person, bob: Person, charlie: Person, people: MakePerson, fakes: FakeServer
) -> None:
    await add_held(alice, fakes)
    assert (await request(bob)).status_code == 404
    assert code(await request(bob, PATH, None, **of(alice))) == (404, "portfolio_not_found")
    dana = await people("dana", Preset.DEVELOPER_FULL)
    assert code(await request(dana)) == (403, "insufficient_scope")
    await join(alice, charlie, "manager")
    assert code(await request(charlie, PATH, None, **of(alice))) == (403, "forbidden_role")
    members = f"/v1/portfolio/team/members/{charlie.account.id}"
    assert (await alice.patch(members, json={"role": "admin"})).status_code == 200
    assert (await request(charlie, PATH, None, **of(alice))).json()["auth_code"] == PLANTED
    assert (await alice.test.post(PATH)).status_code == 404  # the sandbox has no such domain
    [entry] = (await alice.get("/v1/account/audit", params={"action": "auth_code.requested"})).json()["items"]
    assert entry["about"]["member_id"] == str(charlie.account.id)
