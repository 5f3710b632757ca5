"""Messages a second through the chain:

    BUILDERS_MAIL_LOAD=10000 tests/forwarding/system/check -k load \
    -o faulthandler_timeout=7200

The ratio to the same chain with a map of Postfix instead of the look-up server; and bare Postfix, without a goal.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, nullcontext
from statistics import median
from time import perf_counter

import pytest

from builders.forwarding.server import LOOKUPS
from builders.kit.process.settings import Settings
from tests.cast import Person
from tests.forwarding.system.chain import HOST_IP, LIST, SINK_IP
from tests.forwarding.system.conftest import START_S, restart, run
from tests.forwarding.system.test_log import reading
from tests.plans.make import alias, apply

MESSAGES = int(os.environ.get("BUILDERS_MAIL_LOAD", "0"))
SIZE, SESSIONS = 10_240, 20  # bytes, connections of the sender
WARM, ROUNDS = 300, 3
SLOWEST = 10.0  # messages a second of a busy machine
# The limits of a sender are for strangers.
UNLIMITED = {
    f"smtpd_client_{each}_limit": "0"
    for each in ("connection_count", "connection_rate", "message_rate", "recipient_rate")
}
pytestmark = pytest.mark.skipif(not MESSAGES, reason="BUILDERS_MAIL_LOAD")


@asynccontextmanager
async def configured(values: Mapping[str, str]) -> AsyncIterator[None]:
    """Run Postfix with these settings."""
    before = [f"{name}={(await run('postconf', '-h', name)).strip()}" for name in values]
    await run("postconf", *(f"{name}={value}" for name, value in values.items()))
    await restart()
    yield
    await run("postconf", *before)
    await restart()


async def rate(to: str, count: int = MESSAGES) -> float:
    """Return the messages a second from the first connection until all are delivered."""
    sink = await asyncio.create_subprocess_exec("smtp-sink", "-u", "postfix", f"{SINK_IP}:25", "1000")
    began = perf_counter()
    await run(
        *("smtp-source", "-s", str(SESSIONS), "-m", str(count), "-l", str(SIZE), "-f", f"reader@{LIST}"),
        *("-t", to, f"{HOST_IP}:25"),
        within_s=START_S + count / SLOWEST,
    )
    while True:  # Postfix tells nobody
        if "Mail queue is empty" in await run("postqueue", "-p"):
            break
        await asyncio.sleep(0.1)
    elapsed = perf_counter() - began
    sink.terminate()
    await sink.wait()
    return count / elapsed


def count_look_ups() -> float:
    """Return the look-ups since the start."""
    samples = (each for metric in LOOKUPS.collect() for each in metric.samples)
    return sum(each.value for each in samples if each.name.endswith("_total"))


async def test_the_rate_of_the_chain(
    alice: Person, shared: str, chain: None, settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    del chain
    to = f"ada@{shared}"
    await apply(alice, alias(to, alice.account.email))
    await run("sh", "-c", f"echo '{to} {alice.account.email}' >/etc/postfix/load && postmap /etc/postfix/load")
    mapped = {
        "virtual_alias_domains": shared,
        "virtual_alias_maps": "hash:/etc/postfix/load",
        "smtpd_recipient_restrictions": "reject_non_fqdn_recipient, reject_unauth_destination",
        "smtpd_sender_restrictions": "reject_non_fqdn_sender, reject_unknown_sender_domain",
    }
    bare: dict[str, str] = mapped | {
        "smtpd_milters": "",
        "sender_canonical_maps": "",
        "recipient_canonical_maps": "",
    }
    chains: Mapping[str, Mapping[str, str]] = {"look-ups": {}, "counted": {}, "map": mapped, "bare": bare}
    rates: dict[str, list[float]] = {name: [] for name in chains}
    before = count_look_ups()
    for name in list(chains) * ROUNDS:
        counting = reading(settings) if name == "counted" else nullcontext()
        async with configured({**UNLIMITED, **chains[name]}), counting:
            await rate(to, WARM)
            rates[name].append(await rate(to))
    asked = (count_look_ups() - before) / (2 * ROUNDS * (MESSAGES + WARM))
    middle = {name: round(median(each), 1) for name, each in rates.items()}
    ratios = {name: round(each / middle["map"], 2) for name, each in middle.items()}
    with capsys.disabled():
        print(f"\nmessages a second: {middle}; to a map: {ratios}; look-ups each: {asked:.1f}")  # noqa: T201 # the result
    assert all(middle.values())
