"""RDAP: answers are read, registries are asked slowly, and nobody's own data is overwritten."""

import json
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, strategies

from builders.kit.db.connections import Database
from builders.kit.outbound.client import Outbound
from builders.kit.values import clock
from builders.portfolio.domains import changes, lookups, rdap, registries
from builders.portfolio.domains.rdap import RdapUnreadable, RegistryFacts, read_domain
from builders.portfolio.domains.records import ChangeSource, DomainChange, ExpirySource, domain_patch
from tests.cast import Person
from tests.kit.outbound.receivers import Reader, Receiver, Writer, calling, receiving
from tests.portfolio.domains.make import DOMAINS, add
from tests.portfolio.team.make import code, join, of

OBJECT: dict[str, Any] = {
    "objectClassName": "domain",
    "ldhName": "HARBOUR.COM",
    "status": ["client transfer prohibited", "active", "Auto Renew Period", "", 5],
    "events": [
        {"eventAction": "registration", "eventDate": "2020-02-29T12:00:00Z"},
        {"eventAction": "expiration", "eventDate": "2191-03-01T00:00:00.000Z"},
        {"eventAction": "registrar expiration", "eventDate": "2190-03-01T02:00:00+02:00"},
        {"eventAction": "last changed", "eventDate": "yesterday"},
        {"eventAction": "transfer", "eventDate": "0000-00-00T00:00:00Z"},
        None,
    ],
    "nameservers": [{"ldhName": "NS1.Porkbun.com"}, {"ldhName": "ns1.porkbun.com."}, {"ldhName": "-"}],
    "entities": [
        {"roles": ["registrant"], "vcardArray": ["vcard", [["fn", {}, "text", "REDACTED"]]]},
        {
            "roles": ["registrar"],
            "vcardArray": ["vcard", [["version", {}, "text", "4.0"], ["fn", {}, "text", "Porkbun LLC"]]],
        },
    ],
}


def read(**changed: Any) -> rdap.RegistryFacts:
    return rdap.read_domain(json.dumps({**OBJECT, **changed}).encode(), domain="harbour.com")


def test_an_answer_is_read() -> None:
    facts = read()
    assert facts.expires_at == datetime(2190, 3, 1, tzinfo=UTC)
    assert str(facts.registered_on) == "2020-02-29"
    assert facts.registrar == "Porkbun LLC"
    assert (facts.statuses, facts.locked) == (["clientTransferProhibited", "ok", "autoRenewPeriod"], True)
    assert facts.nameservers == ["ns1.porkbun.com"]
    silent = read(events=[], status=None, nameservers={}, entities="none")
    assert (silent.expires_at, silent.locked, silent.registrar, silent.nameservers) == (None, None, None, [])
    moved = [*OBJECT["events"][:1], {"eventAction": "Transfer", "eventDate": "2024-02-29T23:30:00-01:00"}]
    stored = rdap.read_check(None, read(events=moved).stored())
    assert stored.registered_at == datetime(2020, 2, 29, 12, tzinfo=UTC)
    assert stored.transferred_at == datetime(2024, 3, 1, 0, 30, tzinfo=UTC)
    assert rdap.read_check(None, {}).transferred_at is None
    assert read(events=OBJECT["events"][:2]).expires_at == datetime(2191, 3, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    "body",
    [b"", b"<html>", b"[" * 100_000, b"[]", b"{}", json.dumps({**OBJECT, "ldhName": "other.com"}).encode()],
)
def test_another_answer_is_refused(body: bytes) -> None:
    with pytest.raises(RdapUnreadable):
        rdap.read_domain(body, domain="harbour.com")
    with pytest.raises(RdapUnreadable):
        rdap.read_services(body)


JSON = strategies.recursive(
    strategies.none() | strategies.booleans() | strategies.integers() | strategies.text(max_size=5),
    lambda inner: (
        strategies.lists(inner, max_size=3) | strategies.dictionaries(strategies.text(max_size=3), inner)
    ),
    max_leaves=6,
)


@given(
    strategies.fixed_dictionaries(
        {}, optional=dict.fromkeys(("status", "events", "nameservers", "entities"), JSON)
    )
)
def test_no_answer_breaks_the_reader(changed: dict[str, Any]) -> None:
    assert read(**changed).statuses is not None


class Registry:
    """A fake of IANA and of a registry: answers by path with a status, headers and JSON."""

    def __init__(self) -> None:
        self.answers: dict[str, tuple[int, str, Any]] = {}
        self.asked: list[str] = []
        self.url = ""
        self.receiver: Receiver

    async def answer(self, reader: Reader, writer: Writer) -> None:
        del reader
        path = self.receiver.requests[-1].split(b" ")[1].decode()
        self.asked.append(path)
        status, headers, answer = self.answers.get(path, (404, "", {}))
        body = json.dumps(answer).encode()
        head = f"HTTP/1.1 {status} X\r\n{headers}Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        writer.write(head.encode() + body)
        writer.close()

    def knows(self, domain: str, **changed: Any) -> None:
        self.answers[f"/domain/{domain}"] = (200, "", {**OBJECT, "ldhName": domain, **changed})


@pytest.fixture
async def registry(database: Database) -> AsyncIterator[tuple[Registry, Outbound]]:
    """The registry of `.com`, which no other test's domains wait for."""
    fake = Registry()
    async with database.connection() as conn:
        for statement in (
            "UPDATE portfolio_domains SET rdap_due_at = NULL WHERE rdap_due_at IS NOT NULL",
            "DELETE FROM portfolio_domains_rdap_services",
            "DELETE FROM portfolio_domains_rdap_servers",
        ):
            await conn.execute(statement)
    async with receiving(fake.answer) as fake.receiver, calling(fake.receiver) as outbound:
        fake.url = fake.receiver.url
        fake.answers["/dns.json"] = (200, "", {"services": [[["com", "NET"], [fake.url]], [["de"], [3]], 7]})
        yield fake, outbound


Refresh = Callable[[], Any]


@pytest.fixture
def refresh(registry: tuple[Registry, Outbound], database: Database) -> Refresh:
    fake, outbound = registry
    return lambda: registries.refresh_rdap(database, outbound=outbound, url=f"{fake.url}dns.json", pause_s=0)


async def connect(database: Database, owner: Person, domain: str, **members: Any) -> None:
    """Let a registrar keep a domain up to date."""
    async with database.transaction() as conn:
        found = await lookups.get_domain(conn, account_id=owner.account.id, key=domain)
        change = DomainChange(id=found.id, patch=domain_patch(connection_id=found.id, **members))
        await changes.change_domains(
            conn, account_id=owner.account.id, changes=[change], source=ChangeSource.REGISTRAR
        )


async def test_a_registry_fills_in_what_nobody_gave(
    alice: Person, registry: tuple[Registry, Outbound], refresh: Refresh, database: Database
) -> None:
    fake, _ = registry
    await add(alice, "harbour.com")
    given_by_alice: dict[str, Any] = {"registrar": "Gandi", "locked": False, "nameservers": ["ns.mine.com"]}
    await add(alice, "mine.com", expires_at="2180-01-01", **given_by_alice)
    await add(alice, "connected.com")
    await add(alice, "unknown.com")
    await add(alice, "harbour.de")
    await add(alice.test, "harbour.com")
    await add(alice, "sold.com", status="sold")
    await connect(database, alice, "connected.com")
    for name in ("harbour.com", "mine.com", "connected.com", "sold.com"):
        fake.knows(name)

    assert await refresh() == 3

    assert sorted(fake.asked) == ["/dns.json", "/domain/harbour.com", "/domain/mine.com", "/domain/unknown.com"]
    filled = (await alice.get(f"{DOMAINS}/harbour.com")).json()
    assert (filled["expires_at"], filled["expiry_source"]) == ("2190-03-01T00:00:00Z", "rdap")
    assert (filled["registrar"], filled["locked"], filled["registered_on"]) == ("Porkbun LLC", True, "2020-02-29")
    assert filled["nameservers"] == ["ns1.porkbun.com"]
    assert filled["epp_statuses"] == ["clientTransferProhibited", "ok", "autoRenewPeriod"]
    own = (await alice.get(f"{DOMAINS}/mine.com")).json()
    assert (own["expires_at"], own["expiry_source"]) == ("2180-01-01T00:00:00Z", "manual")
    assert {name: own[name] for name in given_by_alice} == given_by_alice
    assert await refresh() == 0  # nothing is due
    with clock.moved(timedelta(days=8)):
        await alice.patch(f"{DOMAINS}/harbour.com", json={"registrar": "Mine"})
        moved = [{"eventAction": "expiration", "eventDate": "2192-03-01T00:00:00Z"}]
        fake.knows("harbour.com", events=moved, status=["active"], entities=[])
        assert await refresh() == 3
        again = (await alice.get(f"{DOMAINS}/harbour.com")).json()
    assert (again["expires_at"], again["locked"], again["registrar"]) == ("2192-03-01T00:00:00Z", False, "Mine")


async def test_a_cleared_expiry_is_asked_for_at_once(
    alice: Person, registry: tuple[Registry, Outbound], refresh: Refresh
) -> None:
    fake, _ = registry
    fake.knows("harbour.com")
    path = f"{DOMAINS}/{(await add(alice, expires_at='2180-01-01'))['id']}"
    assert await refresh() == 1
    assert (await alice.get(path)).json()["expiry_source"] == "manual"

    await alice.patch(path, json={"expires_at": None})

    assert await refresh() == 1
    assert (await alice.get(path)).json()["expiry_source"] == "rdap"
    assert await refresh() == 0


HANDOVER = f"{DOMAINS}/expiry-source"
KEYS = ["harbour.com", "PIER.com", "harbour.com", "unknown.com"]


async def test_expiries_of_a_file_are_handed_over_to_the_registry(
    alice: Person, registry: tuple[Registry, Outbound], refresh: Refresh
) -> None:
    fake, _ = registry
    files = (
        "Domain,Expires\nharbour.com,2180-01-01\n",
        "Domain Name,Expiration Date,Auto-renew,Status\npier.com,2180-01-01,On,x\n",
    )
    for content in files:
        await alice.post("/v1/portfolio/import", json={"csv": content})
    for name in ("harbour.com", "pier.com"):
        fake.knows(name)
    assert await refresh() == 2

    answer = await alice.post(HANDOVER, json={"domains": KEYS})

    assert [each["outcome"] for each in answer.json()["results"]] == ["updated", "updated", "unchanged", "error"]
    shown = (await alice.get(f"{DOMAINS}/harbour.com")).json()
    assert (shown["expires_at"], shown["expiry_source"]) == ("2180-01-01T00:00:00Z", "rdap")
    assert await refresh() == 2
    for name in ("harbour.com", "pier.com"):
        shown = (await alice.get(f"{DOMAINS}/{name}")).json()
        assert (shown["expires_at"], shown["expiry_source"]) == ("2190-03-01T00:00:00Z", "rdap")


async def test_an_expiry_of_a_connected_registrar_stays_its_own(alice: Person, database: Database) -> None:
    await add(alice, "harbour.com", expires_at="2180-01-01")
    await connect(database, alice, "harbour.com", expiry_source=ExpirySource.REGISTRAR)
    answer = await alice.post(HANDOVER, json={"domains": ["harbour.com"]})
    assert [each["outcome"] for each in answer.json()["results"]] == ["unchanged"]


async def test_a_stranger_hands_nothing_over_and_a_viewer_may_not(
    alice: Person, bob: Person, charlie: Person
) -> None:
    await add(alice, "harbour.com", expires_at="2180-01-01")
    await join(alice, charlie, "viewer")
    body = {"domains": ["harbour.com"]}
    [result] = (await bob.post(HANDOVER, json=body)).json()["results"]
    assert [each["code"] for each in result["errors"]] == ["portfolio_domain_not_found"]
    assert code(await charlie.post(HANDOVER, json=body, headers=of(alice))) == (403, "forbidden_role")
    assert (await alice.get(f"{DOMAINS}/harbour.com")).json()["expiry_source"] == "manual"


async def test_redirects_are_followed_a_few_times(
    alice: Person, registry: tuple[Registry, Outbound], refresh: Refresh
) -> None:
    fake, _ = registry
    moved = {
        "/domain/harbour.com": f"{fake.url}second/harbour.com",
        "/second/harbour.com": "/third/harbour.com",
        "/third/harbour.com": "../found/harbour.com",
        "/domain/loop.com": "/domain/loop.com",
        "/domain/away.com": "ftp://registry.example/domain/away.com",
        "/domain/odd.com": "http://[",
        "/domain/nowhere.com": "",
    }
    for path, location in moved.items():
        fake.answers[path] = (302, f"Location: {location}\r\n" if location else "", {})
    fake.answers["/found/harbour.com"] = (200, "", OBJECT)
    for name in ("harbour.com", "loop.com", "away.com", "odd.com", "nowhere.com"):
        await add(alice, name)
    await refresh()
    assert (await alice.get(f"{DOMAINS}/harbour.com")).json()["expires_at"] == "2190-03-01T00:00:00Z"
    assert fake.asked.count("/domain/loop.com") == 4
    assert fake.asked.count("/domain/away.com") == 1
    with clock.moved(timedelta(hours=2)):  # what is unreadable is asked for later, and later each time
        await refresh()
    with clock.moved(timedelta(hours=3.5)):
        await refresh()
    assert fake.asked.count("/domain/away.com") == 2


async def test_an_error_about_one_domain_stops_no_other(
    alice: Person, registry: tuple[Registry, Outbound], refresh: Refresh, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake, _ = registry
    fake.answers["/dns.json"] = (200, "", {"services": [[["com"], [fake.url]], [["net"], [f"{fake.url}net/"]]]})
    for name in ("broken.com", "harbour.com", "pier.net"):
        await add(alice, name)
        fake.knows(name)
    fake.answers["/net/domain/pier.net"] = fake.answers["/domain/pier.net"]

    def broken(body: bytes, *, domain: str) -> RegistryFacts:
        if domain == "broken.com":
            raise ZeroDivisionError
        return read_domain(body, domain=domain)

    monkeypatch.setattr(registries, "read_domain", broken)
    await refresh()
    for name in ("harbour.com", "pier.net"):
        assert (await alice.get(f"{DOMAINS}/{name}")).json()["expiry_source"] == "rdap"
    monkeypatch.undo()
    with clock.moved(timedelta(minutes=61)):
        await refresh()
    assert (await alice.get(f"{DOMAINS}/broken.com")).json()["expiry_source"] == "rdap"


async def test_a_registry_that_refuses_is_left_alone(
    alice: Person, registry: tuple[Registry, Outbound], refresh: Refresh
) -> None:
    fake, _ = registry
    fake.answers["/dns.json"] = (500, "", {})
    for name in ("a.com", "b.com", "c.com"):
        await add(alice, name)
        fake.answers[f"/domain/{name}"] = (429, "Retry-After: 120\r\n", {})
    assert await refresh() == 0
    assert fake.asked == ["/dns.json"]
    fake.answers["/dns.json"] = (200, "", {"services": [[["com"], [fake.url]]]})
    with clock.moved(timedelta(hours=2)):
        assert await refresh() == 0
        assert len(fake.asked) == 3
        assert await refresh() == 0
        assert len(fake.asked) == 3
        with clock.moved(timedelta(seconds=121)):
            assert await refresh() == 0  # refused again: longer now
        with clock.moved(timedelta(seconds=230)):
            assert await refresh() == 0
        assert len(fake.asked) == 4
        for name in ("a.com", "b.com", "c.com"):
            fake.knows(name)
        fake.answers["/domain/a.com"] = (500, "", {})
        with clock.moved(timedelta(seconds=250)):
            assert await refresh() == 3
        fake.knows("a.com")
        with clock.moved(timedelta(minutes=70)):
            assert await refresh() == 1
    found = (await alice.get(DOMAINS)).json()["items"]
    assert {each["expiry_source"] for each in found} == {"rdap"}
