"""What a host name resolves to, asked anew each time, within a time limit and without holding up other names.

The system's resolver blocks a thread, for half a minute when a name server is silent, and nothing can call it
back. So each look-up has a thread of its own, of which there are so many; one name has one look-up at a time,
whoever waits for it, and the names of one site have a few. Whoever has a name that hangs waits alone; and should
somebody have many sites of such names, a part of the threads is for names that answered in time when last asked.
"""

import asyncio
import socket
from collections.abc import Callable
from contextlib import nullcontext, suppress
from threading import Thread

from builders.kit.outbound.addresses import Address, read
from builders.kit.outbound.failures import Failure, OutboundFailed
from builders.kit.outbound.targets import Target
from builders.kit.values import clock

LIMIT_S = 3.0  # for one answer
THREADS = 48  # look-ups at once
THREADS_OF_STRANGERS = 32  # of names that are not known to answer
THREADS_OF_SITE = 4
MOST_KNOWN = 4096  # names
# Below these anybody can have a name, as below co.uk; there a site is one label longer than elsewhere.
SHARED = frozenset(
    {
        "amazonaws.com", "appspot.com", "azurewebsites.net", "cloudfront.net", "firebaseapp.com", "fly.dev",
        "github.io", "herokuapp.com", "netlify.app", "ngrok.app", "ngrok.dev", "ngrok-free.app", "ngrok.io",
        "onrender.com", "pages.dev", "run.app", "trycloudflare.com", "vercel.app", "web.app", "workers.dev",
    }
)  # fmt: skip
COUNTRY = 2  # letters
SHORT = 3  # letters, as in com.au, or.at, gov.uk

Found = tuple[Address, ...]


class LookupFailed(Exception):
    """The name has no address, or no answer came in time."""


def ask(host: str) -> list[str]:
    """The addresses of a name, in the system's order; blocks. Raises OSError."""
    found = socket.getaddrinfo(host.encode("ascii"), None, type=socket.SOCK_STREAM)
    return [str(sockaddr[0]) for *_, sockaddr in found]


def site_of(host: str) -> str:
    """The end of the name, all of whose names one stranger may own."""
    labels = host.rstrip(".").split(".")
    shared = ".".join(labels[-2:]) in SHARED or (len(labels[-1]) == COUNTRY and len(labels[-2:][0]) <= SHORT)
    return ".".join(labels[-3 if shared else -2 :])


class _Site:
    """Names that end alike, which one stranger may own, share a few threads."""

    def __init__(self) -> None:
        self.turns = asyncio.Semaphore(THREADS_OF_SITE)
        self.names = 0  # that wait or are being looked up


class Lookups:
    """The look-ups of one event loop."""

    def __init__(self) -> None:
        self._running: dict[str, asyncio.Task[Found]] = {}
        self._threads = asyncio.Semaphore(THREADS)
        self._strangers = asyncio.Semaphore(THREADS_OF_STRANGERS)
        self._known: dict[str, None] = {}  # those first that answered longest ago
        self._sites: dict[str, _Site] = {}

    async def find(self, host: str) -> Found:
        """Every address of the name; with a dot at its end no search domain is tried. Raises LookupFailed."""
        running = self._running.get(host)
        if running is None:
            running = self._running[host] = asyncio.create_task(self._find(host))
            running.add_done_callback(lambda task: self._end(host, task))
        try:
            async with asyncio.timeout(LIMIT_S):
                # Shielded: others may be waiting for the same, and the thread cannot be stopped anyway.
                return await asyncio.shield(running)
        except (OSError, ValueError, RuntimeError) as error:  # a TimeoutError is an OSError
            raise LookupFailed from error

    async def close(self) -> None:
        """Waits for nobody; threads that hang end by themselves."""
        running = list(self._running.values())
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    async def _find(self, host: str) -> Found:
        ending = site_of(host)
        strangers = nullcontext() if host in self._known else self._strangers
        self._known.pop(host, None)  # until it has answered again
        site = self._sites.setdefault(ending, _Site())
        site.names += 1
        try:
            async with asyncio.timeout(LIMIT_S) as waiting, site.turns, strangers, self._threads:
                waiting.reschedule(None)  # who has a thread keeps its place until the thread has ended
                began = clock.monotonic()
                answer = await _in_thread(ask, host)
                if clock.monotonic() - began < LIMIT_S:
                    self._know(host)
        finally:
            site.names -= 1
            if not site.names:
                del self._sites[ending]
        return tuple(dict.fromkeys(map(read, answer)))

    def _know(self, host: str) -> None:
        self._known[host] = None
        if len(self._known) > MOST_KNOWN:
            del self._known[next(iter(self._known))]

    def _end(self, host: str, task: asyncio.Task[Found]) -> None:
        del self._running[host]
        if not task.cancelled():
            task.exception()  # now it has been looked at, though everybody may have gone


async def _in_thread(function: Callable[[str], list[str]], host: str) -> list[str]:
    """Calls the function in a thread that the end of the process does not wait for, unlike an executor's."""
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
        with suppress(RuntimeError):  # the loop is closed: nobody waits
            loop.call_soon_threadsafe(finish, answer, failed)

    Thread(target=run, name=f"lookup {host}", daemon=True).start()
    return await done


async def find(lookups: Lookups, target: Target) -> tuple[Address, ...]:
    """All addresses of the target's host. Raises OutboundFailed."""
    if target.literal:
        return (target.literal,)
    try:
        # The dot keeps the machine's search domains out; what the operator opened may stand in /etc/hosts.
        return await lookups.find(target.host if target.opened else f"{target.host}.")
    except LookupFailed as error:
        raise OutboundFailed(Failure.DNS) from error
