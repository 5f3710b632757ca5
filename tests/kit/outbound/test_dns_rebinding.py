"""No connection goes to an address that is not public, whatever a name resolves to and whenever it changes."""

import socket

import pytest
from aiohttp.connector import AddrInfoType

from builders.kit.outbound import connections, targets
from builders.kit.outbound.client import Failure, Outbound, OutboundFailed, Rule, UrlRefused
from builders.kit.process.settings import Settings
from tests.kit.outbound.hostile import HOSTILE
from tests.kit.outbound.receivers import OK, calling, receiving, resolving, saying

PUBLIC = "93.184.216.34"


@pytest.fixture
def loopback_is_public(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make loopback addresses but 127.0.0.9 pass as public, because a test has no network."""

    usual = targets.is_public

    def is_public(address: targets.Address) -> bool:
        return str(address) != "127.0.0.9" if address.is_loopback else usual(address)

    monkeypatch.setattr(targets, "is_public", is_public)


@pytest.mark.parametrize("url", [url for url, _ in HOSTILE])
async def test_a_hostile_url_opens_no_socket(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "_create_socket", lambda _: pytest.fail("a socket was made"))
    with resolving(monkeypatch) as asked:
        async with Outbound(Settings()) as outbound:
            with pytest.raises(OutboundFailed) as failed:
                await outbound.request("GET", url)
    assert failed.value.kind is Failure.BLOCKED_ADDRESS
    assert asked == []


@pytest.mark.parametrize(
    "found",
    [
        ["127.0.0.1"],
        ["10.0.0.1"],
        ["169.254.169.254"],
        [PUBLIC, "127.0.0.1"],
        ["127.0.0.1", PUBLIC],
        ["2606:4700::1111", "::1"],
        [PUBLIC, "::ffff:127.0.0.1"],
        ["64:ff9b::7f00:1"],
        ["fe80::1%lo"],
        ["1.1.1.1"] * 50 + ["192.168.0.1"],
    ],
)
async def test_one_address_that_is_not_public_refuses_the_host(
    found: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    async with receiving(saying(OK)) as receiver, Outbound(Settings()) as outbound:
        url = f"http://hook.example:{receiver.port}/"
        with resolving(monkeypatch, hook_example=found):
            with pytest.raises(OutboundFailed) as failed:
                await outbound.request("GET", url)
            with pytest.raises(UrlRefused) as refused:
                await outbound.validate_host(outbound.validate_url(url))
    assert failed.value.kind is Failure.BLOCKED_ADDRESS
    assert refused.value.rule is Rule.ADDRESS
    assert receiver.connections == 0
    for said in (str(failed.value), str(refused.value)):
        assert not any(address in said for address in found)


async def test_a_name_that_changes_after_the_check_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    async with receiving(saying(OK)) as receiver, Outbound(Settings()) as outbound:
        url = f"http://hook.example:{receiver.port}/"
        with resolving(monkeypatch, hook_example=[PUBLIC]):
            await outbound.validate_host(outbound.validate_url(url))
        with resolving(monkeypatch, hook_example=["127.0.0.1"]), pytest.raises(OutboundFailed) as failed:
            await outbound.request("GET", url)
    assert failed.value.kind is Failure.BLOCKED_ADDRESS
    assert receiver.connections == 0


@pytest.mark.usefixtures("loopback_is_public")
async def test_the_connection_goes_to_the_checked_address(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = [["127.0.0.1"], ["10.0.0.1"], ["127.0.0.9"]]

    async def ask(_: str, **__: object) -> list[str]:
        return answers.pop(0)

    monkeypatch.setattr(connections, "query_dns", ask)
    async with receiving(saying(OK)) as receiver, Outbound(Settings()) as outbound:
        await outbound.request("GET", f"http://hook.example:{receiver.port}/")
    assert len(answers) == 2  # one answer, checked and used
    assert receiver.connections == 1
    assert receiver.head["host"] == f"hook.example:{receiver.port}"


@pytest.mark.usefixtures("loopback_is_public")
async def test_a_kept_connection_keeps_its_address_and_the_next_one_is_checked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with receiving(saying(OK, close=False)) as receiver, Outbound(Settings()) as outbound:
        url = f"http://hook.example:{receiver.port}/"
        with resolving(monkeypatch, hook_example=["127.0.0.1"]):
            await outbound.request("GET", url, reuse=True)
        with resolving(monkeypatch, hook_example=["10.0.0.1"]) as asked:
            await outbound.request("GET", url, reuse=True)
            assert asked == []
            with pytest.raises(OutboundFailed) as failed:
                await outbound.request("GET", url)
    assert failed.value.kind is Failure.BLOCKED_ADDRESS
    assert (receiver.connections, len(receiver.requests)) == (1, 2)


async def test_the_socket_factory_refuses_what_the_resolver_let_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    async def deceived(*_: object, **__: object) -> list[dict[str, object]]:
        return [{"hostname": "", "host": "127.0.0.1", "port": receiver.port, "family": 2, "proto": 6, "flags": 0}]

    async with receiving(saying(OK)) as receiver, Outbound(Settings()) as outbound:
        monkeypatch.setattr(connections._Resolver, "resolve", deceived)
        with pytest.raises(OutboundFailed) as failed:
            await outbound.request("GET", f"http://hook.example:{receiver.port}/")
    assert failed.value.kind is Failure.BLOCKED_ADDRESS
    assert receiver.connections == 0


async def test_an_allowed_name_may_resolve_to_loopback_or_public_addresses_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with receiving(saying(OK)) as receiver, calling(receiver, names=("mock.internal",)) as outbound:
        url = f"http://mock.internal:{receiver.port}/"
        with resolving(monkeypatch, mock_internal=["127.0.0.1"]) as asked:
            await outbound.validate_host(outbound.validate_url(url))
            assert (await outbound.request("GET", url)).status == 200
            assert asked == ["mock.internal"] * 2
        for elsewhere in ("10.0.0.1", "169.254.169.254", "::ffff:127.0.0.1"):
            found = resolving(monkeypatch, mock_internal=["127.0.0.1", elsewhere])
            with found, pytest.raises(OutboundFailed) as failed:
                await outbound.request("GET", url)
            assert failed.value.kind is Failure.BLOCKED_ADDRESS
    assert receiver.connections == 1


async def test_another_name_of_an_allowed_address_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    async with receiving(saying(OK)) as receiver, calling(receiver) as outbound:
        with resolving(monkeypatch, hook_example=["127.0.0.1"]), pytest.raises(OutboundFailed) as failed:
            await outbound.request("GET", f"http://hook.example:{receiver.port}/")
    assert failed.value.kind is Failure.BLOCKED_ADDRESS
    assert receiver.connections == 0


async def test_a_name_without_addresses_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    async with Outbound(Settings()) as outbound:
        with resolving(monkeypatch):
            with pytest.raises(OutboundFailed) as failed:
                await outbound.request("GET", "https://unknown.example/")
            with pytest.raises(UrlRefused) as refused:
                await outbound.validate_host(outbound.validate_url("https://unknown.example/"))
    assert (failed.value.kind, refused.value.rule) == (Failure.DNS, Rule.UNRESOLVED)
    assert "unknown" not in str(failed.value)


@pytest.mark.usefixtures("loopback_is_public")
async def test_few_of_many_addresses_are_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[object] = []
    real = connections._create_socket

    def note(where: AddrInfoType) -> socket.socket:
        made.append(where)
        return real(where)

    monkeypatch.setattr(connections, "_create_socket", note)
    many = [f"127.0.1.{n}" for n in range(1, 200)]
    async with receiving(saying(OK)) as receiver:
        port = receiver.port  # where nobody listens a moment later
    async with Outbound(Settings()) as outbound:
        with resolving(monkeypatch, hook_example=many), pytest.raises(OutboundFailed) as failed:
            await outbound.request("GET", f"http://hook.example:{port}/")
    assert failed.value.kind is Failure.CONNECT
    assert 1 <= len(made) <= 4
