"""Credentials are in no row, response, log, event, job or repr."""

from collections.abc import Iterator
from io import StringIO
from typing import Any

import pytest

from builders.demo.registrars.account import FakeAccount, Fault
from builders.demo.registrars.fake import FakeRegistrar, FakeServer
from builders.demo.registrars.fakes import FAKES
from builders.kit.jobs import queue
from builders.kit.outbound.client import Outbound
from builders.kit.process import log
from builders.kit.process.settings import Settings
from builders.portfolio.registrars import credentials as sealing, service as registrars
from builders.portfolio.registrars.providers import ADAPTERS
from builders.portfolio.registrars.schemas import RegistrarConnect
from builders.portfolio.registrars.store import credentials as store
from tests.cast import Person
from tests.portfolio.registrars.leaks import forms_of, list_leaks
from tests.portfolio.registrars.make import REGISTRARS, database_of, keyring_of

PLANTED, WRONG = "planted{name}0f1e2d3c4b5a", "wrong{name}9a8b7c6d5e4f"
FAULTS = (Fault.RATE_LIMITED_SILENTLY, Fault.SERVER_ERROR, Fault.MALFORMED, Fault.REFUSED)
pytestmark = pytest.mark.usefixtures("calls_fakes")


@pytest.fixture
def logged() -> Iterator[StringIO]:
    """All that is logged."""
    lines = StringIO()
    log.configure(level="debug", stream=lines)
    yield lines
    log.configure(level="error")


def planted(provider: str, text: str) -> dict[str, str]:
    """Credentials whose secrets can be recognized."""
    secret = {each.name for each in ADAPTERS[provider].profile.credential_fields if each.is_secret}
    plain = FAKES[provider].credentials
    return {name: text.format(name=name.replace("_", "")) if name in secret else plain[name] for name in plain}


def secrets_of(provider: str) -> set[str]:
    found = {*planted(provider, PLANTED).values(), *planted(provider, WRONG).values()}
    return found - set(FAKES[provider].credentials.values())


def fake_with(provider: str, credentials: dict[str, str]) -> FakeRegistrar:
    return type("Planted", (FAKES[provider],), {"credentials": credentials})(FakeAccount())  # type: ignore[no-any-return]


async def test_planted_credentials_are_found_nowhere(
    alice: Person, fakes: FakeServer, outbound: Outbound, settings: Settings, logged: StringIO
) -> None:
    said: list[str] = []

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
            fake.account.faults.extend([fault] * 3 if fault in fake.faults else [])
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
    texts = "\n".join([*said, logged.getvalue(), *await reprs(alice, outbound)])
    assert [form for form in forms_of(secrets) if form in texts] == []
    async with database_of(alice).connection() as conn:
        assert await list_leaks(conn, secrets) == []
        # The search finds what is there: the text of the registrar's name, and the bytes of a sealed value.
        assert await list_leaks(conn, {"porkbun"}) != []


async def reprs(person: Person, outbound: Outbound) -> list[str]:
    """What a debugger or a traceback shows of the objects that hold credentials."""
    account_id, shown = person.account.sandbox_id, []
    async with database_of(person).connection() as conn:
        connections = await registrars.list_connections(conn, account_id=account_id)
        for each in connections:
            sealed = await store.find(conn, account_id=account_id, connection_id=each.id)
            assert sealed is not None
            opened = sealing.unseal(keyring_of(person), sealed, account_id=account_id, connection_id=each.id)
            body = RegistrarConnect.model_validate({"credentials": opened})
            shown += [repr(each), repr(body), str(body), repr(body.patch())]
    assert len(connections) == len(ADAPTERS)
    for each in connections:
        if each.next_allowed_at is None:
            adapter = await registrars.open_adapter(
                database_of(person), outbound=outbound, keyring=keyring_of(person), connection=each
            )
            shown += [repr(adapter), str(adapter)]
    return shown
