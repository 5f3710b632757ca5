"""Host names are resolved by DNS for each request; a name server that is silent delays no other name."""

import asyncio
from collections.abc import AsyncIterator, Sequence

import dns.asyncresolver
import dns.nameserver
import pytest

from builders.kit.outbound.connections import LOOKUP_TIMEOUT_S, Failure, OutboundFailed, resolve_target
from builders.kit.outbound.targets import Target
from tests.domains.nameserver import Fault, Nameserver, serving

NAME = "a.example"


async def find(host: str, *, is_allowed: bool = False, timeout_s: float = LOOKUP_TIMEOUT_S) -> Sequence[str]:
    target = Target("https", host, 443, "/", is_allowed=is_allowed)
    return sorted(map(str, await resolve_target(target, timeout_s=timeout_s)))


@pytest.fixture
async def server(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Nameserver]:
    """The name server of the system."""
    async with serving() as running:
        host, _, port = running.address.rpartition(":")
        configured = dns.asyncresolver.Resolver(configure=False)
        configured.nameservers = [dns.nameserver.Do53Nameserver(host, int(port))]
        monkeypatch.setattr(dns.asyncresolver, "Resolver", lambda: configured)
        running.zone[NAME, "A"] = ["192.0.2.1", "192.0.2.2"]
        running.zone[NAME, "AAAA"] = ["2001:db8::1"]
        yield running


async def test_all_addresses_of_both_kinds_are_returned(server: Nameserver) -> None:
    assert await find(NAME) == ["192.0.2.1", "192.0.2.2", "2001:db8::1"]
    assert sorted(server.asked) == [(NAME, "A", False), (NAME, "AAAA", False)]


async def test_a_chain_of_names_is_followed(server: Nameserver) -> None:
    server.cname("www.example", NAME)
    assert await find("www.example") == await find(NAME)


async def test_addresses_of_one_kind_suffice(server: Nameserver) -> None:
    del server.zone[NAME, "AAAA"]
    assert await find(NAME) == ["192.0.2.1", "192.0.2.2"]


async def test_results_are_not_cached(server: Nameserver) -> None:
    for _ in range(3):
        await find(NAME)
    assert len(server.asked) == 6


@pytest.mark.parametrize("fault", [Fault.SERVFAIL, Fault.REFUSED, Fault.GARBAGE, Fault.SILENT])
async def test_a_name_server_that_does_not_answer_is_a_failure(server: Nameserver, fault: Fault) -> None:
    server.faults[NAME] = fault
    with pytest.raises(OutboundFailed) as failed:
        await find(NAME, timeout_s=0.2)
    assert failed.value.kind is Failure.DNS


@pytest.mark.usefixtures("server")
async def test_an_unknown_name_is_a_failure() -> None:
    with pytest.raises(OutboundFailed):
        await find("unknown.example")


async def test_silent_names_delay_no_other(server: Nameserver) -> None:
    silent = [f"{n}.slow.example" for n in range(50)]
    server.faults |= dict.fromkeys(silent, Fault.SILENT)
    hanging = [asyncio.create_task(find(each, timeout_s=2)) for each in silent]
    await asyncio.sleep(0.01)
    assert await find(NAME)
    assert not any(each.done() for each in hanging)
    assert {type(each) for each in await asyncio.gather(*hanging, return_exceptions=True)} == {OutboundFailed}


async def test_an_allowed_name_is_resolved_by_the_system() -> None:
    assert {"127.0.0.1", "::1"} & {*await find("localhost", is_allowed=True)}


async def test_a_system_without_name_servers_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    def configure() -> None:
        raise dns.resolver.NoResolverConfiguration

    monkeypatch.setattr(dns.asyncresolver, "Resolver", configure)
    with pytest.raises(OutboundFailed):
        await find(NAME)
