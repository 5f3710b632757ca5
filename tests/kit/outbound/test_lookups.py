"""Names are resolved for each request; a hanging name delays no other."""

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator

import pytest

from builders.kit.outbound import resolver
from builders.kit.outbound.resolver import DnsResolver, LookupFailed


class Dns:
    """A resolver whose names under `slow` answer when the test releases them."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.go = threading.Event()
        self.at_once = self.most_at_once = 0
        self.lock = threading.Lock()

    def ask(self, host: str) -> list[str]:
        with self.lock:
            self.asked.append(host)
            self.at_once += 1
            self.most_at_once = max(self.at_once, self.most_at_once)
        try:
            if "slow" in host:
                assert self.go.wait(20)
            if "unknown" in host:
                raise OSError(-2, "Name or service not known")
            return ["192.0.2.1", "2001:db8::1", "192.0.2.1"]
        finally:
            with self.lock:
                self.at_once -= 1


@pytest.fixture
def dns(monkeypatch: pytest.MonkeyPatch) -> Iterator[Dns]:
    dns = Dns()
    monkeypatch.setattr(resolver, "resolve_blocking", dns.ask)
    yield dns
    dns.go.set()


@pytest.fixture
async def found() -> AsyncIterator[DnsResolver]:
    lookups = DnsResolver()
    yield lookups
    await lookups.close()


async def test_each_address_is_returned_once(dns: Dns, found: DnsResolver) -> None:
    assert [str(each) for each in await found.find("a.example.")] == ["192.0.2.1", "2001:db8::1"]
    assert dns.asked == ["a.example."]


async def test_results_are_not_cached(dns: Dns, found: DnsResolver) -> None:
    for _ in range(3):
        await found.find("a.example.")
    assert len(dns.asked) == 3


async def test_concurrent_lookups_of_a_name_are_shared(dns: Dns, found: DnsResolver) -> None:
    asking = [asyncio.create_task(found.find("slow.example.")) for _ in range(100)]
    await asyncio.sleep(0)
    dns.go.set()
    assert len({await each for each in asking}) == 1
    assert dns.asked == ["slow.example."]


async def test_an_unknown_name_is_reported(dns: Dns, found: DnsResolver) -> None:
    del dns
    with pytest.raises(LookupFailed):
        await found.find("unknown.example.")


async def test_a_hanging_name_times_out_and_works_once_it_answers(dns: Dns, found: DnsResolver) -> None:
    found.timeout_s = 0.02
    for _ in range(2):
        with pytest.raises(LookupFailed):
            await found.find("slow.example.")
    assert dns.asked == ["slow.example."]  # the second waited for the first
    found.timeout_s = 20
    dns.go.set()
    assert await found.find("slow.example.")


async def test_hanging_names_leave_threads_for_others(dns: Dns, found: DnsResolver) -> None:
    found.timeout_s = 0.3
    hanging = [asyncio.create_task(found.find(f"{n}.slow.example.")) for n in range(200)]
    await asyncio.sleep(0.01)
    assert await found.find("a.b.test.")
    failed = await asyncio.gather(*hanging, return_exceptions=True)
    assert all(isinstance(each, LookupFailed) for each in failed)
    assert dns.most_at_once <= resolver.MAX_THREADS_PER_DOMAIN + 1


async def test_the_number_of_threads_is_bounded(dns: Dns, found: DnsResolver) -> None:
    found.timeout_s = 0.3
    hanging = [asyncio.create_task(found.find(f"slow.{n}.test.")) for n in range(resolver.MAX_THREADS * 2)]
    await asyncio.gather(*hanging, return_exceptions=True)
    assert dns.most_at_once == resolver.MAX_THREADS_UNKNOWN_HOSTS
    dns.go.set()


@pytest.mark.parametrize(
    ("stranger", "other"),
    [
        ("evil.co.uk.", "honest.co.uk."),
        ("evil.com.au.", "www.honest.com.au."),
        ("evil.herokuapp.com.", "honest.herokuapp.com."),
        ("a.evil.github.io.", "honest.github.io."),
    ],
)
async def test_hanging_names_delay_no_other_name_with_the_same_suffix(
    dns: Dns, found: DnsResolver, stranger: str, other: str
) -> None:
    hanging = [asyncio.create_task(found.find(f"slow{n}.{stranger}")) for n in range(20)]
    await asyncio.sleep(0.01)
    assert await found.find(other)
    assert dns.most_at_once <= resolver.MAX_THREADS_PER_DOMAIN + 1
    dns.go.set()
    await asyncio.gather(*hanging)


async def test_a_recently_resolved_name_gets_a_thread_when_others_hang(dns: Dns, found: DnsResolver) -> None:
    await found.find("known.example.")
    found.timeout_s = 0.3
    hanging = [asyncio.create_task(found.find(f"slow.{n}.test.")) for n in range(resolver.MAX_THREADS * 2)]
    await asyncio.sleep(0.01)
    assert await found.find("known.example.")
    with pytest.raises(LookupFailed):
        await found.find("new.example.")
    await asyncio.gather(*hanging, return_exceptions=True)
    dns.go.set()


async def test_a_hanging_name_is_no_longer_known(dns: Dns, found: DnsResolver) -> None:
    dns.go.set()
    await found.find("slow.example.")
    dns.go.clear()
    found.timeout_s = 0.02
    with pytest.raises(LookupFailed):
        await found.find("slow.example.")
    assert "slow.example." not in found._known


async def test_the_number_of_known_names_is_bounded(dns: Dns) -> None:
    del dns
    found = DnsResolver(max_known_hosts=2)
    for name in ("a.test.", "b.test.", "a.test.", "c.test."):
        await found.find(name)
    assert list(found._known) == ["a.test.", "c.test."]


async def test_ended_lookups_are_forgotten(dns: Dns, found: DnsResolver) -> None:
    await asyncio.gather(
        *(found.find(f"{n}.unknown.example.") for n in range(20)),
        *(found.find(f"{n}.b{n}.example.") for n in range(20)),
        return_exceptions=True,
    )
    assert len(dns.asked) == 40
    await asyncio.sleep(0)
    assert (found._running, found._domains) == ({}, {})


async def test_closing_waits_for_no_thread(dns: Dns) -> None:
    found = DnsResolver()
    asking = asyncio.create_task(found.find("slow.example."))
    await asyncio.sleep(0.01)
    await asyncio.wait_for(found.close(), 1)
    await asyncio.gather(asking, return_exceptions=True)
    assert asking.done()
    dns.go.set()


def test_the_resolver_of_the_system_is_used() -> None:
    assert {"127.0.0.1", "::1"} & set(resolver.resolve_blocking("localhost"))
