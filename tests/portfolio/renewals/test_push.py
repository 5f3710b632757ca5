"""push_to_registrar of bulk decisions: auto-renew at the registrars."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from functools import partial
from typing import Any
from uuid import UUID

import pytest

from builders.app import Service
from builders.demo.registrars.apis.godaddy import FakeGoDaddy
from builders.demo.registrars.fake import FakeAccount, FakeDomain, FakeRegistrar, FakeServer, Fault
from builders.kit.outbound.client import Outbound
from builders.kit.process.settings import Settings
from builders.portfolio.domains.records import RenewalDecision
from builders.portfolio.registrars import auto_renew, connections as registrar_connections
from builders.portfolio.renewals import pushes, store
from builders.portfolio.renewals.records import DecisionPatch
from builders.portfolio.runs import runs
from builders.portfolio.runs.records import WorkKind
from tests.cast import Person, replaced
from tests.portfolio.parking.make import database_of
from tests.portfolio.registrars.make import connect
from tests.portfolio.registrars.reconcile_make import SNAPSHOT, ahead, hold, named, own, report
from tests.portfolio.registrars.sync import do_part
from tests.portfolio.renewals.make import decide
from tests.registrars.apis.namecheap import FakeNamecheap
from tests.registrars.apis.namesilo import FakeNameSilo

FIND_EVENTS = """
    SELECT data FROM kit_outbox
    WHERE account_id = %(account_id)s AND name = 'portfolio.renewal.failed' ORDER BY id
"""
COUNT_JOBS = """
    SELECT count(*) FROM procrastinate_jobs
    WHERE task_name = 'portfolio.run_part' AND args ->> 'kind' = 'push' AND args ->> 'account_id' = %(account_id)s
"""


@pytest.fixture(scope="module")
def fakes() -> Iterator[FakeServer]:
    with FakeServer() as server:
        yield server


@pytest.fixture
async def outbound(fakes: FakeServer, service: Service) -> AsyncIterator[Outbound]:
    """The client of the service, which may reach the fakes."""
    async with Outbound(Settings.model_validate({"outbound_allow": [fakes.address]})) as client:
        with replaced(service, outbound=client):
            yield client


async def held_at(alice: Person, fakes: FakeServer, kind: type[FakeRegistrar], *names: str) -> FakeRegistrar:
    """Let a fake hold domains of the portfolio with auto-renew on."""
    domains = [FakeDomain(domain=name, expires_at=ahead(20), created_at=ahead(-300)) for name in names]
    fake = kind(FakeAccount(domains=domains))
    made = await connect(alice, fake, fakes)
    times = {"taken_at": ahead(-0.1), "complete_at": ahead(-0.1), "provider": fake.provider}
    async with database_of(alice).transaction() as conn:
        await conn.execute(SNAPSHOT, {**times, "account_id": alice.account.id, "connection_id": made.id})
    await own(alice, *names, expires_at=ahead(20), registrar=None)
    await hold(alice, made.id, *names, expires_at=ahead(20))
    return fake


def settings(fake: FakeRegistrar) -> dict[str, bool]:
    return {each.domain: each.auto_renew for each in fake.account.domains}


async def push(alice: Person, *items: dict[str, Any], **options: Any) -> list[Any]:
    reply = await decide(alice, {"items": list(items), "push_to_registrar": True, **options})
    return [each["pushed"] for each in reply["results"]]


def states(pushed: list[Any]) -> list[str | None]:
    return [each and each["state"] for each in pushed]


@pytest.mark.usefixtures("outbound")
async def test_each_row_says_what_became_of_it(alice: Person, fakes: FakeServer) -> None:
    godaddy = await held_at(alice, fakes, FakeGoDaddy, "drop.com", "off.com", "renew.com", "kept.com")
    await held_at(alice, fakes, FakeNamecheap, "unsupported.com")
    await own(alice, "nowhere.com")
    rows: list[tuple[dict[str, Any], str | None]] = [
        ({"domain_id": "drop.com", "decision": "drop"}, "pushed"),
        ({"domain_id": "off.com", "decision": "renew", "auto_renew": False}, "pushed"),
        ({"domain_id": "renew.com", "decision": "renew"}, "unchanged"),
        ({"domain_id": "kept.com", "note": "Nothing about auto-renew."}, "nothing_to_push"),
        ({"domain_id": "unsupported.com", "decision": "drop"}, "unsupported"),
        ({"domain_id": "nowhere.com", "decision": "drop"}, "not_connected"),
        ({"domain_id": "unknown.com", "decision": "drop"}, None),
    ]
    items, expected = [row for row, _ in rows], [state for _, state in rows]
    tried = states(await push(alice, *items, dry_run=True))
    assert tried == ["would_push" if each == "pushed" else each for each in expected]
    assert all(settings(godaddy).values())
    assert godaddy.account.requests == 0
    done = await push(alice, *items)
    assert states(done) == expected
    assert settings(godaddy) == {"drop.com": False, "off.com": False, "renew.com": True, "kept.com": True}
    assert (done[0]["provider"], done[0]["auto_renew"], done[0]["error"]) == ("godaddy", False, None)
    assert done[4]["dashboard_url"].startswith("https://ap.www.namecheap.com/")
    assert "website" in done[4]["error"]
    requests = godaddy.account.requests
    assert states(await push(alice, *items)) == [each and each.replace("pushed", "unchanged") for each in expected]
    assert godaddy.account.requests == requests
    assert named(await report(alice, category="auto_renew_mismatch")) == []  # the portfolio and the holding agree
    assert (await alice.get("/v1/portfolio/domains/drop.com")).json()["auto_renew"] is False


@pytest.mark.usefixtures("outbound")
async def test_a_suggested_push_resolves_a_mismatch(alice: Person, fakes: FakeServer) -> None:
    fake = await held_at(alice, fakes, FakeGoDaddy, "harbour.com")
    await alice.patch("/v1/portfolio/domains/harbour.com", json={"auto_renew": False})
    [found] = (await report(alice))["findings"]
    assert (found["category"], found["severity"]) == ("auto_renew_mismatch", "warn")
    action = found["suggested_action"]
    answer = await alice.request(action["method"], action["path"], json=action["body"])
    assert answer.json()["results"][0]["pushed"]["state"] == "pushed"
    assert settings(fake) == {"harbour.com": False}
    assert (await report(alice))["findings"] == []


@pytest.mark.usefixtures("outbound")
async def test_a_failing_registrar_fails_alone(alice: Person, fakes: FakeServer) -> None:
    godaddy = await held_at(alice, fakes, FakeGoDaddy, "a.com", "b.com")
    namesilo = await held_at(alice, fakes, FakeNameSilo, "c.com")
    godaddy.account.faults.append(Fault.RESTRICTED)
    rows = [{"domain_id": name, "decision": "drop"} for name in ("a.com", "b.com", "c.com")]
    pushed = await push(alice, *rows)
    assert states(pushed) == ["failed", "failed", "pushed"]
    assert godaddy.account.requests == 1  # for all of its domains
    assert "does not allow" in pushed[0]["error"]
    assert settings(namesilo) == {"c.com": False}
    async with database_of(alice).connection() as conn:
        connections = await registrar_connections.list_connections(conn, account_id=alice.account.id)
    assert [(each.provider, each.status.value) for each in connections if each.provider == "godaddy"] == [
        ("godaddy", "restricted")
    ]


async def clear_rate_limit(alice: Person) -> None:
    async with database_of(alice).transaction() as conn:
        await conn.execute(
            "UPDATE portfolio_registrars_connections SET next_allowed_at = NULL WHERE account_id = %s",
            [alice.account.id],
        )


async def connection_of(alice: Person) -> UUID:
    async with database_of(alice).connection() as conn:
        [found] = await registrar_connections.list_connections(conn, account_id=alice.account.id)
    return found.id


async def test_a_job_sends_what_the_request_could_not(
    alice: Person, fakes: FakeServer, outbound: Outbound, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = await held_at(alice, fakes, FakeGoDaddy, "a.com", "b.com")
    fake.account.faults.append(Fault.HANG)
    rows = [{"domain_id": name, "decision": "drop"} for name in ("a.com", "b.com")]
    with monkeypatch.context() as short:
        short.setattr(pushes, "decide_and_push", partial(pushes.decide_and_push, timeout_s=0.3))
        assert states(await push(alice, *rows)) == ["queued", "queued"]
    async with database_of(alice).connection() as conn:
        account = {"account_id": str(alice.account.id)}
        assert await (await conn.execute(COUNT_JOBS, account)).fetchone() == (1,)
    part = (alice, WorkKind.PUSH, await connection_of(alice), outbound)
    fake.account.faults.append(Fault.RATE_LIMITED)
    with pytest.raises(pushes.PushesWaiting):
        await do_part(*part)
    await clear_rate_limit(alice)
    await do_part(*part)
    assert settings(fake) == {"a.com": False, "b.com": False}
    assert states(await push(alice, *rows)) == ["unchanged", "unchanged"]


async def test_of_two_decisions_the_last_one_is_sent_last(
    alice: Person, fakes: FakeServer, outbound: Outbound, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = await held_at(alice, fakes, FakeGoDaddy, "a.com")
    fake.account.domains[0].auto_renew = False
    real, second = auto_renew.set_auto_renew, list[Any]()

    async def decide_meanwhile(*arguments: Any, **options: Any) -> Any:
        monkeypatch.setattr(auto_renew, "set_auto_renew", real)
        second.extend(states(await push(alice, {"domain_id": "a.com", "decision": "renew", "auto_renew": False})))
        return await real(*arguments, **options)

    async with database_of(alice).transaction() as conn:
        await conn.execute(
            "UPDATE portfolio_registrars_holdings SET auto_renew = NULL WHERE account_id = %s", [alice.account.id]
        )
    monkeypatch.setattr(auto_renew, "set_auto_renew", decide_meanwhile)
    assert states(await push(alice, {"domain_id": "a.com", "decision": "renew"})) == ["pushed"]
    assert second == ["queued"]
    assert settings(fake) == {"a.com": True}
    await do_part(alice, WorkKind.PUSH, await connection_of(alice), outbound)
    assert settings(fake) == {"a.com": False}


async def test_a_push_whose_worker_was_killed_is_continued_once(
    alice: Person, fakes: FakeServer, outbound: Outbound, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = await held_at(alice, fakes, FakeGoDaddy, "a.com")
    fake.account.faults.append(Fault.SERVER_ERROR)
    assert states(await push(alice, {"domain_id": "a.com", "decision": "drop"})) == ["queued"]
    part = (alice, WorkKind.PUSH, await connection_of(alice), outbound)

    class Killed(BaseException):
        """A worker was killed."""

    async def killed(*_: object, **__: object) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(store, "delete_pushes", killed)
        with pytest.raises(Killed):
            await do_part(*part)
    await asyncio.gather(*(do_part(*part) for _ in range(2)))
    assert settings(fake) == {"a.com": False}
    async with database_of(alice).connection() as conn:
        open_parts = await runs.count_open(conn, account_id=alice.account.id, kinds=[WorkKind.PUSH])
    assert open_parts == 0


async def test_a_setting_that_keeps_failing_is_abandoned_and_reported(
    alice: Person, fakes: FakeServer, outbound: Outbound
) -> None:
    fake = await held_at(alice, fakes, FakeGoDaddy, "a.com")
    fake.account.faults.extend([Fault.SERVER_ERROR] * pushes.MAX_ATTEMPTS)
    [pushed] = await push(alice, {"domain_id": "a.com", "decision": "drop"})
    assert (pushed["state"], pushed["error"]) == ("queued", "The registrar does not respond.")
    part = (alice, WorkKind.PUSH, await connection_of(alice), outbound)
    for _ in range(pushes.MAX_ATTEMPTS - 2):
        with pytest.raises(pushes.PushesWaiting):
            await do_part(*part)
    await do_part(*part)
    async with database_of(alice).connection() as conn:
        rows = await (await conn.execute(FIND_EVENTS, {"account_id": alice.account.id})).fetchall()
    [event] = [json.loads(data) for (data,) in rows]
    assert (event["domain"], event["auto_renew"], event["provider"]) == ("a.com", False, "godaddy")


@pytest.mark.parametrize(
    ("patch", "setting"),
    [
        pytest.param(DecisionPatch(decision=RenewalDecision.RENEW), True, id="renew"),
        pytest.param(DecisionPatch(decision=RenewalDecision.DROP), False, id="drop"),
        pytest.param(
            DecisionPatch(decision=RenewalDecision.DROP, auto_renew=True), True, id="drop, but stated on"
        ),
        pytest.param(
            DecisionPatch(decision=RenewalDecision.DROP, auto_renew=None), False, id="drop and stated null"
        ),
        pytest.param(DecisionPatch(decision=RenewalDecision.UNDECIDED), None, id="undecided"),
        pytest.param(DecisionPatch(auto_renew=False), False, id="stated off alone"),
        pytest.param(DecisionPatch(note="n"), None, id="a note alone"),
    ],
)
def test_the_setting_that_a_row_implies(patch: DecisionPatch, setting: bool | None) -> None:
    assert pushes.implied_auto_renew(patch) is setting
