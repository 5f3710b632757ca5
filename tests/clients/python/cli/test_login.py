"""`bld login`, `bld whoami`, `bld logout`, and where the keys are."""

import asyncio
import stat
import sys
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from builders.kit.values import clock
from builders_client.cli.profiles import choose, same_service, usable
from builders_client.operation import Operation
from tests.cast import Person
from tests.clients.python.cli.make import Bld, Ran

DEVICE = "/v1/auth/device"
BOTH = {"decision": "approve", "test_presets": ["developer_full"], "live_preset": "developer_full"}


@pytest.fixture
def machine(bld: Bld) -> Bld:
    """Return `bld` without a key."""
    bld.key = None
    return bld


async def log_in(
    machine: Bld, person: Person, decision: dict[str, Any], monkeypatch: pytest.MonkeyPatch, *options: str
) -> Ran:
    """Run `bld login` while the person types the code and decides."""
    loop = asyncio.get_running_loop()
    codes: list[str] = []
    monkeypatch.setattr("builders_client.cli.login.show_code", codes.append)

    async def decide() -> None:
        async with person.browser() as browser:
            opened = await browser.post(f"{DEVICE}/code", json={"user_code": codes.pop()})
            answer = await browser.post(f"{DEVICE}/requests/{opened.json()['id']}/decision", json=decision)
            assert answer.status_code == 200, answer.text

    def sleep(seconds: float) -> None:
        if codes:
            asyncio.run_coroutine_threadsafe(decide(), loop).result(20)
        clock.move(timedelta(seconds=seconds))

    machine.sleep = sleep
    return await machine("login", "--no-browser", "--json", *options)


async def test_a_person_grants_keys_which_commands_use(
    machine: Bld, alice: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = await log_in(machine, alice, BOTH, monkeypatch)
    assert sorted(each["key_kind"] for each in done.json) == ["live", "test"]
    assert "secret" not in done.out
    me = (await machine("whoami", "--json", "account.email,source", BUILDERS_API_URL="")).json
    assert me == {"account.email": alice.account.email, "source": "profile"}


async def test_an_agent_gets_keys_with_the_mandate_that_the_person_gives(
    machine: Bld, alice: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    decision = {**BOTH, "mandate": {"toolsets": ["names"]}}
    done = await log_in(machine, alice, decision, monkeypatch, "--agent")
    assert [each["mandate"]["toolsets"] for each in done.json] == [["names"], ["names"]]


async def test_only_the_owner_reads_the_keys(machine: Bld, alice: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    await log_in(machine, alice, BOTH, monkeypatch)
    folder = machine.home / "config" / "bld"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE((folder / "profiles.json").stat().st_mode) == 0o600


class Ring:
    """A keyring library with a backend."""

    def __init__(self) -> None:
        self.secrets: dict[tuple[str, str], str] = {}
        self.errors = SimpleNamespace(KeyringError=RuntimeError)

    def get_keyring(self) -> object:
        return self

    def set_password(self, service: str, name: str, secret: str) -> None:
        self.secrets[service, name] = secret

    def get_password(self, service: str, name: str) -> str | None:
        return self.secrets.get((service, name))

    def delete_password(self, service: str, name: str) -> None:
        if self.secrets.pop((service, name), None) is None:
            raise RuntimeError


async def test_a_keyring_keeps_the_keys(machine: Bld, alice: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    ring = Ring()
    monkeypatch.setitem(sys.modules, "keyring", ring)
    monkeypatch.setitem(sys.modules, "keyring.backends.fail", SimpleNamespace(Keyring=int))
    await log_in(machine, alice, BOTH, monkeypatch)
    assert len(ring.secrets) == 2
    file = machine.home / "config" / "bld" / "profiles.json"
    assert "secret" not in file.read_text(encoding="utf-8")
    assert (await machine("whoami")).code == 0
    await machine("logout")
    assert ring.secrets == {}


async def test_a_refusal_exits_with_5(machine: Bld, alice: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    done = await log_in(machine, alice, {"decision": "deny"}, monkeypatch)
    assert (done.code, (await machine("names", "list")).code) == (5, 4)


async def test_nobody_types_the_code(machine: Bld) -> None:
    machine.sleep = lambda seconds: clock.move(timedelta(seconds=seconds))
    done = await machine("login", "--no-browser")
    assert (done.code, "Next: " in done.err) == (1, True)


async def test_keys_of_a_profile_are_not_sent_to_another_service(
    machine: Bld, alice: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    await log_in(machine, alice, BOTH, monkeypatch)
    assert (await machine("whoami", "--api-url", "http://other.test")).code == 4


async def test_log_out_removes_the_keys(machine: Bld, alice: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    await log_in(machine, alice, BOTH, monkeypatch)
    assert (await machine("logout")).code == 0
    assert (await machine("whoami")).code == 4
    assert (await machine("logout")).code == 4


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("https://a.example", "https://A.example/v1/", True),
        ("https://a.example", "http://a.example", False),
        ("https://a.example", "https://a.example.evil.test", False),
        ("https://a.example", "https://a.example:444", False),
    ],
)
def test_services_are_compared_by_address(one: str, other: str, same: bool) -> None:
    assert same_service(one, other) is same


def key(secret: str, *scopes: str, kind: str = "test", expires_at: str | None = None) -> dict[str, Any]:
    return {"key_kind": kind, "scopes": scopes, "secret": secret, "expires_at": expires_at}


def test_the_key_with_the_scope_is_chosen() -> None:
    keys = [
        key("expired", "aliases:read", kind="live", expires_at="2020-01-01T00:00:00Z"),
        key("test", "aliases:read"),
        key("live", "portfolio:read", kind="live"),
    ]
    operation = Operation("a", "a", "a", "GET", "/", scope="aliases:read")
    assert choose(usable(keys, test=False), operation) == "test"
    assert choose(usable(keys, test=False), operation._replace(scope="portfolio:read")) == "live"
    assert choose(usable(keys, test=True), operation._replace(scope="portfolio:read")) == "test"
