"""Uncached DNS resolution with a timeout, isolated per domain.

The system resolver blocks its thread, for half a minute if a name server does not respond, and cannot be
cancelled. Each lookup therefore runs in a thread, and the number of threads is limited. Concurrent lookups of one
host share a thread, and the hosts of one domain share a few threads, so that a slow domain delays only itself.
Some threads are reserved for hosts that responded in time before, in case one user has many slow domains.
"""

import asyncio
import socket
from collections.abc import Callable
from contextlib import nullcontext, suppress
from threading import Thread

from builders.kit.outbound.addresses import Address, parse_address
from builders.kit.outbound.failures import Failure, OutboundFailed
from builders.kit.outbound.targets import Target
from builders.kit.values import clock

LOOKUP_TIMEOUT_S = 3.0  # per lookup
MAX_THREADS = 48  # concurrent lookups
MAX_THREADS_UNKNOWN_HOSTS = 32  # for hosts without an earlier successful lookup
MAX_THREADS_PER_DOMAIN = 4
MAX_KNOWN_HOSTS = 4096  # hosts
# Public suffixes on which anyone can register a name, as on co.uk: the domain has one more label.
SHARED_SUFFIXES = frozenset(
    {
        "amazonaws.com", "appspot.com", "azurewebsites.net", "cloudfront.net", "firebaseapp.com", "fly.dev",
        "github.io", "herokuapp.com", "netlify.app", "ngrok.app", "ngrok.dev", "ngrok-free.app", "ngrok.io",
        "onrender.com", "pages.dev", "run.app", "trycloudflare.com", "vercel.app", "web.app", "workers.dev",
    }
)  # fmt: skip
COUNTRY_CODE_LENGTH = 2  # characters
MAX_SECOND_LEVEL_LENGTH = 3  # characters, as in com.au, or.at, gov.uk

Addresses = tuple[Address, ...]


class LookupFailed(Exception):
    """The host has no address, or the lookup timed out."""


def resolve_blocking(host: str) -> list[str]:
    """Resolve a host with the system resolver; blocks. Return addresses in the system's order. Raise OSError."""
    found = socket.getaddrinfo(host.encode("ascii"), None, type=socket.SOCK_STREAM)
    return [str(sockaddr[0]) for *_, sockaddr in found]


def registrable_domain(host: str) -> str:
    """Return the domain that one owner may control, approximating the public suffix list."""
    labels = host.rstrip(".").split(".")
    shared = ".".join(labels[-2:]) in SHARED_SUFFIXES or (
        len(labels[-1]) == COUNTRY_CODE_LENGTH and len(labels[-2:][0]) <= MAX_SECOND_LEVEL_LENGTH
    )
    return ".".join(labels[-3 if shared else -2 :])


class _Domain:
    """The lookups of one registrable domain, which share a few threads."""

    def __init__(self) -> None:
        self.threads = asyncio.Semaphore(MAX_THREADS_PER_DOMAIN)
        self.lookups = 0  # waiting or running


class DnsResolver:
    """The DNS resolver of one event loop."""

    def __init__(self, *, timeout_s: float = LOOKUP_TIMEOUT_S, max_known_hosts: int = MAX_KNOWN_HOSTS) -> None:
        self.timeout_s = timeout_s
        self._max_known_hosts = max_known_hosts
        self._running: dict[str, asyncio.Task[Addresses]] = {}
        self._threads = asyncio.Semaphore(MAX_THREADS)
        self._unknown_threads = asyncio.Semaphore(MAX_THREADS_UNKNOWN_HOSTS)
        self._known: dict[str, None] = {}  # least recently resolved first
        self._domains: dict[str, _Domain] = {}

    async def find(self, host: str) -> Addresses:
        """Return all addresses of the host. Raise LookupFailed. A trailing dot excludes search domains."""
        running = self._running.get(host)
        if running is None:
            running = self._running[host] = asyncio.create_task(self._find(host))
            running.add_done_callback(lambda task: self._end(host, task))
        try:
            async with asyncio.timeout(self.timeout_s):
                # Shielded: other callers may share the task, and the thread cannot be stopped anyway.
                return await asyncio.shield(running)
        except (OSError, ValueError, RuntimeError) as error:  # a TimeoutError is an OSError
            raise LookupFailed from error

    async def close(self) -> None:
        """Cancel all lookups without waiting for their threads."""
        running = list(self._running.values())
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    async def _find(self, host: str) -> Addresses:
        name = registrable_domain(host)
        threads = nullcontext() if host in self._known else self._unknown_threads
        self._known.pop(host, None)  # until it responds again
        domain = self._domains.setdefault(name, _Domain())
        domain.lookups += 1
        try:
            async with asyncio.timeout(self.timeout_s) as waiting, domain.threads, threads, self._threads:
                waiting.reschedule(None)  # hold the slot until the thread ends, even after the timeout
                started_at = clock.monotonic()
                answer = await _run_in_thread(resolve_blocking, host)
                if clock.monotonic() - started_at < self.timeout_s:
                    self._remember(host)
        finally:
            domain.lookups -= 1
            if not domain.lookups:
                del self._domains[name]
        return tuple(dict.fromkeys(map(parse_address, answer)))

    def _remember(self, host: str) -> None:
        self._known[host] = None
        if len(self._known) > self._max_known_hosts:
            del self._known[next(iter(self._known))]

    def _end(self, host: str, task: asyncio.Task[Addresses]) -> None:
        del self._running[host]
        if not task.cancelled():
            task.exception()  # mark the exception as retrieved, since no caller may be waiting


async def _run_in_thread(function: Callable[[str], list[str]], host: str) -> list[str]:
    """Call the function in a daemon thread; unlike an executor's thread, it does not delay the process exit."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[list[str]] = loop.create_future()

    def finish(answer: list[str] | None, error: OSError | None) -> None:
        if done.done():
            return
        if answer is None:
            done.set_exception(error or OSError())
        else:
            done.set_result(answer)

    def run() -> None:
        answer, failed = None, None
        try:
            answer = function(host)
        except OSError as error:
            failed = error
        with suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(finish, answer, failed)

    Thread(target=run, name=f"lookup {host}", daemon=True).start()
    return await done


async def resolve_target(resolver: DnsResolver, target: Target) -> tuple[Address, ...]:
    """Return all addresses of the target's host. Raise OutboundFailed."""
    if target.literal:
        return (target.literal,)
    try:
        # The trailing dot excludes search domains; an allowed host may be in /etc/hosts, without a dot.
        return await resolver.find(target.host if target.is_allowed else f"{target.host}.")
    except LookupFailed as error:
        raise OutboundFailed(Failure.DNS) from error
