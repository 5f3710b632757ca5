"""Credentials and auth codes are in no row, response, log, event, job or repr."""

from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from io import StringIO
from typing import Any
from uuid import UUID

import pytest
from pydantic import TypeAdapter

from builders.demo.registrars.fake import (
    FakeAccount,
    FakeDomain,
    FakeLine,
    FakePurchase,
    FakeRegistrar,
    FakeServer,
    Fault,
)
from builders.kit.events import dispatcher
from builders.kit.jobs import queue
from builders.kit.outbound.client import Outbound
from builders.kit.process import log
from builders.kit.process.secret_keys import Keyring, generate_secret
from builders.kit.process.settings import Settings
from builders.kit.values import clock
from builders.portfolio.registrars import (
    connections as registrar_connections,
    credentials as sealing,
    errors,
    requests,
)
from builders.portfolio.registrars.failures import RegistrarFailed
from builders.portfolio.registrars.providers import ADAPTERS
from builders.portfolio.registrars.rows import CodeRow
from builders.portfolio.registrars.schemas import RegistrarConnect
from builders.portfolio.registrars.store import connections as store
from builders.portfolio.runs.work import Tools
from builders.portfolio.transfers.replies import AuthCodeReply
from tests import log_lines
from tests.cast import Person
from tests.portfolio.domains.make import DOMAINS, add
from tests.portfolio.registrars.leaks import current_transaction, forms_of, list_leaks
from tests.portfolio.registrars.make import REGISTRARS, connect, database_of, keyring_of
from tests.portfolio.registrars.sync import start, work
from tests.registrars.fakes import FAKES

CODE = "Planted-Auth-Code-4Kz"
PLANTED, WRONG = "planted{name}0f1e2d3c4b5a", "wrong{name}9a8b7c6d5e4f"
FAULTS = (Fault.RATE_LIMITED_SILENTLY, Fault.SERVER_ERROR, Fault.MALFORMED, Fault.REFUSED)
pytestmark = pytest.mark.usefixtures("calls_fakes")


@pytest.fixture
def logged() -> Iterator[StringIO]:
    """All that is logged."""
    lines = StringIO()
    log.configure(level="debug", stream=lines)
    yield lines
    log_lines.write_errors_only()


def planted(provider: str, text: str) -> dict[str, str]:
    """Credentials whose secrets can be recognized."""
    secret = {each.name for each in ADAPTERS[provider].profile.credential_fields if each.is_secret}
    plain = FAKES[provider].credentials
    return {name: text.format(name=name.replace("_", "")) if name in secret else plain[name] for name in plain}


def secrets_of(provider: str) -> set[str]:
    found = {*planted(provider, PLANTED).values(), *planted(provider, WRONG).values()}
    return found - set(FAKES[provider].credentials.values())


def fake_with(provider: str, credentials: dict[str, str]) -> FakeRegistrar:
    return type("Planted", (FAKES[provider],), {"credentials": credentials})(FakeAccount())  # type: ignore[no-any-return] # a class of the registry


async def test_planted_credentials_are_found_nowhere(
    alice: Person, fakes: FakeServer, outbound: Outbound, settings: Settings, logged: StringIO
) -> None:
    said: list[str] = []
    since = await begin(alice)

    async def put(provider: str, **body: Any) -> None:
        answer = await alice.test.put(f"{REGISTRARS}/{provider}", json=body, headers={"Idempotency-Key": "look"})
        said.append(answer.text)

    for provider in sorted(ADAPTERS):
        credentials = planted(provider, PLANTED)
        fake = fake_with(provider, credentials)
        where = {"base_url": fakes.add(fake)}
        await put(provider, credentials=planted(provider, WRONG), **where)
        assert '"ok":false' in said[-1], provider
        await put(provider, credentials=credentials, **where)
        assert '"ok":true' in said[-1], provider
        for fault in FAULTS:
            fake.account.faults.extend([fault] * 3 if fault in fake.faults() else [])
            await put(provider, credentials=credentials, sync_interval_hours=0)  # 422
            await put(provider, credentials=credentials)
            fake.account.faults.clear()
        await put(f"{provider}x", credentials=credentials)  # 404
        for each in credentials.values():  # in places where it does not belong
            await put(provider, credentials=each, environment=each)
    said.append((await alice.test.get(REGISTRARS)).text)
    await queue.run_pending(database_of(alice), settings)
    said.append((await alice.get("/v1/account/audit")).text)

    secrets = set().union(*map(secrets_of, ADAPTERS))
    texts = "\n".join([*said, logged.getvalue(), *await reprs(alice, outbound, alice.account.sandbox_id)])
    assert [form for form in forms_of(secrets) if form in texts] == []
    async with database_of(alice).connection() as conn:
        assert await list_leaks(conn, secrets, since=since) == []
        # The search finds what is there: the text of the registrar's name, and the bytes of a sealed value.
        assert await list_leaks(conn, {"porkbun"}, since=since) != []


def holding(provider: str) -> FakeRegistrar:
    """A registrar with planted credentials that holds a domain with a planted code and has billed it."""
    now, name = clock.now(), f"{provider}.com"
    fake = fake_with(provider, planted(provider, PLANTED))
    expires_at = datetime(now.year + 1, 1, 1, tzinfo=UTC)
    fake.account.domains.append(FakeDomain(domain=name, created_at=now, expires_at=expires_at, auth_code=CODE))
    line = FakeLine(domains=[name], operation="renewal", total=Decimal("9.99"))
    fake.account.orders.append(FakePurchase(order_id="1", charged_on=now.date(), lines=[line]))
    return fake


async def test_jobs_and_auth_codes_leave_no_secret_behind(
    alice: Person, fakes: FakeServer, outbound: Outbound, worker: Settings, logged: StringIO
) -> None:
    secrets, since = {CODE}.union(*map(secrets_of, ADAPTERS)), await begin(alice)
    held = {provider: holding(provider) for provider in sorted(ADAPTERS)}
    for provider, fake in held.items():
        await connect(alice, fake, fakes)
        await add(alice, f"{provider}.com")
    held["cloudflare"].account.faults.append(Fault.BAD_KEY)  # its sync fails
    said = [str(await start(alice))]
    await settle(alice, worker, secrets, since)
    said.append((await alice.post(f"{REGISTRARS}/billing/sync", params={"wait": 0})).text)
    await settle(alice, worker, secrets, since)
    delivered = {}
    for provider in held:
        path, key = f"{DOMAINS}/{provider}.com/auth-code", {"Idempotency-Key": provider}
        delivered[provider] = (await alice.post(path, headers=key)).json()
        said.append((await alice.post(path, headers=key)).text)  # repeated
    await settle(alice, worker, secrets, since)
    paths = (f"{REGISTRARS}/inventory", f"{REGISTRARS}/billing/charges", "/v1/account/audit", "/v1/events")
    said += [(await alice.get(path)).text for path in paths]

    assert delivered.pop("cloudflare")["code"] == "not_connected"  # the sync did not find its domain
    returned = {provider for provider, body in delivered.items() if body["auth_code"] == CODE}
    assert returned == {
        name for name, each in ADAPTERS.items() if each.profile.capabilities.auth_code == "returned"
    }
    assert "porkbun.com" in said[-4]
    assert "9.99" in said[-3]
    shown = await reprs(alice, outbound, alice.account.id)
    shown += [repr(TypeAdapter(AuthCodeReply).validate_python(body)) for body in delivered.values()]
    texts = "\n".join([*said, logged.getvalue(), *shown])
    assert [form for form in forms_of(secrets) if form in texts] == []


@pytest.mark.parametrize("member", ["authCode", "auth_code", "AuthCode", "authinfo"])
def test_a_row_shows_no_auth_code(member: str) -> None:
    row = CodeRow.model_validate({member: CODE})
    assert CODE in row.model_dump().values()
    assert CODE not in f"{row!r} {row}"


async def begin(person: Person) -> str:
    async with database_of(person).connection() as conn:
        return await current_transaction(conn)


async def settle(person: Person, worker: Settings, secrets: set[str], since: str) -> None:
    """Dispatch events and run jobs until none is left; no row since the transaction holds a secret at any step."""
    for _ in range(2):  # events enqueue jobs, and jobs publish events
        async with database_of(person).transaction() as conn:
            while await dispatcher.dispatch(conn):
                pass
            assert await list_leaks(conn, secrets, since=since) == []
        await work(person, worker)
    async with database_of(person).connection() as conn:
        assert await list_leaks(conn, secrets, since=since) == []


async def reprs(person: Person, outbound: Outbound, account_id: UUID) -> list[str]:
    """What a debugger or a traceback shows of the objects that hold credentials."""
    shown = []
    async with database_of(person).connection() as conn:
        connections = await registrar_connections.list_connections(conn, account_id=account_id)
        for each in connections:
            sealed = await store.find_credentials(conn, account_id=account_id, connection_id=each.id)
            assert sealed is not None
            opened = sealing.unseal(keyring_of(person), sealed, account_id=account_id, connection_id=each.id)
            body = RegistrarConnect.model_validate({"credentials": opened})
            shown += [repr(each), repr(body), str(body), repr(body.patch())]
    assert len(connections) == len(ADAPTERS)
    for each in connections:
        if each.next_allowed_at is None:
            adapter = await requests.open_adapter(
                Tools(database=database_of(person), outbound=outbound, keyring=keyring_of(person)), each
            )
            shown += [repr(adapter), str(adapter)]
    return shown


async def test_credentials_are_sealed_anew_under_another_secret_key(
    alice: Person, fakes: FakeServer, outbound: Outbound
) -> None:
    old, new = generate_secret(), generate_secret()
    made = await connect(alice, FAKES["porkbun"](FakeAccount()), fakes, keyring=Keyring([old]))
    database = database_of(alice)
    done = await sealing.reseal_credentials(database, keyring=Keyring([new, old]))
    assert done.renewed == 1
    again = await sealing.reseal_credentials(database, keyring=Keyring([new, old]))
    assert (again.renewed, again.lost) == (0, done.lost)
    await requests.open_adapter(Tools(database=database, outbound=outbound, keyring=Keyring([new])), made)
    with pytest.raises(RegistrarFailed) as lost:
        await requests.open_adapter(Tools(database=database, outbound=outbound, keyring=Keyring([old])), made)
    assert errors.problem_of(lost.value).code == "provider_auth_failed"
    body = {"label": "x", "base_url": None, "verify": False}
    refused = await alice.put(f"{REGISTRARS}/porkbun", json=body)
    assert {each["type"] for each in refused.json()["detail"]} == {"credential_required"}
