"""Host names are resolved by DNS for each request; a name server that is silent delays no other name."""

import asyncio
from collections.abc import AsyncIterator

import dns.asyncresolver
import dns.nameserver
import pytest

from builders.kit.outbound.resolver import DnsResolver, LookupFailed
from tests.domains.nameserver import Fault, Nameserver, serving

NAME = "a.example"


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


@pytest.fixture
async def found() -> AsyncIterator[DnsResolver]:
    lookups = DnsResolver()
    yield lookups
    await lookups.close()


async def test_all_addresses_of_both_kinds_are_returned(server: Nameserver, found: DnsResolver) -> None:
    addresses = await found.find(NAME)
    assert sorted(map(str, addresses)) == ["192.0.2.1", "192.0.2.2", "2001:db8::1"]
    assert sorted(server.asked) == [(NAME, "A", False), (NAME, "AAAA", False)]


async def test_a_chain_of_names_is_followed(server: Nameserver, found: DnsResolver) -> None:
    server.cname("www.example", NAME)
    assert {*await found.find("www.example")} == {*await found.find(NAME)}


async def test_addresses_of_one_kind_suffice(server: Nameserver, found: DnsResolver) -> None:
    del server.zone[NAME, "AAAA"]
    assert sorted(map(str, await found.find(NAME))) == ["192.0.2.1", "192.0.2.2"]


async def test_results_are_not_cached(server: Nameserver, found: DnsResolver) -> None:
    for _ in range(3):
        await found.find(NAME)
    assert len(server.asked) == 6


async def test_concurrent_lookups_of_a_name_are_shared(server: Nameserver, found: DnsResolver) -> None:
    assert len({*await asyncio.gather(*(found.find(NAME) for _ in range(100)))}) == 1
    assert len(server.asked) == 2


@pytest.mark.parametrize("fault", [Fault.SERVFAIL, Fault.REFUSED, Fault.GARBAGE, Fault.SILENT])
async def test_a_name_server_that_does_not_answer_is_a_failure(server: Nameserver, fault: Fault) -> None:
    found = DnsResolver(timeout_s=0.2)
    server.faults[NAME] = fault
    with pytest.raises(LookupFailed):
        await found.find(NAME)


@pytest.mark.usefixtures("server")
async def test_an_unknown_name_is_a_failure(found: DnsResolver) -> None:
    with pytest.raises(LookupFailed):
        await found.find("unknown.example")


async def test_silent_names_delay_no_other(server: Nameserver) -> None:
    found = DnsResolver(timeout_s=2)
    silent = [f"{n}.slow.example" for n in range(50)]
    server.faults |= dict.fromkeys(silent, Fault.SILENT)
    hanging = [asyncio.create_task(found.find(each)) for each in silent]
    await asyncio.sleep(0.01)
    assert await found.find(NAME)
    assert not any(each.done() for each in hanging)
    assert {type(each) for each in await asyncio.gather(*hanging, return_exceptions=True)} == {LookupFailed}


async def test_an_allowed_name_is_resolved_by_the_system(found: DnsResolver) -> None:
    addresses = await found.find("localhost", is_allowed=True)
    assert {"127.0.0.1", "::1"} & {*map(str, addresses)}


async def test_ended_lookups_are_forgotten(server: Nameserver, found: DnsResolver) -> None:
    names = [NAME, *(f"{n}.unknown.example" for n in range(20))]
    await asyncio.gather(*map(found.find, names), return_exceptions=True)
    await asyncio.sleep(0)
    assert found._running == {}
    assert len(server.asked) == 42


async def test_closing_ends_all_lookups(server: Nameserver) -> None:
    found = DnsResolver()
    server.faults[NAME] = Fault.SILENT
    asking = asyncio.create_task(found.find(NAME))
    await asyncio.sleep(0.01)
    await asyncio.wait_for(found.close(), 1)
    await asyncio.gather(asking, return_exceptions=True)
    assert asking.cancelled()


async def test_a_system_without_name_servers_is_a_failure(
    found: DnsResolver, monkeypatch: pytest.MonkeyPatch
) -> None:
    def configure() -> None:
        raise dns.resolver.NoResolverConfiguration

    monkeypatch.setattr(dns.asyncresolver, "Resolver", configure)
    with pytest.raises(LookupFailed):
        await found.find(NAME)
