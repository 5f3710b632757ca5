"""Random histories of an address: only allowed transitions, and a limited number of messages."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from types import SimpleNamespace
from typing import Any

from hypothesis import given, strategies as st

from builders.kit.db.connections import Conn, Database
from builders.kit.jobs import queue
from builders.kit.process.secret_keys import Keyring
from builders.kit.values import clock, ids
from builders.leads import jobs as leads_jobs, store
from tests.cast import Client
from tests.leads.make import Runner, confirm, submit, token_of, unsubscribe_path
from tests.mail.smtp_server import Received
from tests.random_cases import cases

# The allowed transitions of one step; a state may always stay.
MOVES: dict[str | None, set[str | None]] = {
    None: {"pending", "bounced"},
    "pending": {"confirmed", "expired", "bounced", "suppressed"},
    "confirmed": {"unsubscribed", "bounced"},
    "unsubscribed": {"pending", "bounced"},
    "expired": {"pending", "suppressed", "bounced", None},
    "bounced": {"pending", "confirmed", "suppressed", None},
    "suppressed": set(),
}
STEPS = st.lists(
    st.sampled_from(["ask", "ask", "ask", "confirm", "confirm", "stop", "bounce", "minutes", "days", "months"]),
    min_size=1,
    max_size=14,
)
WAITS = {"minutes": timedelta(minutes=16), "days": timedelta(days=4), "months": timedelta(days=95)}


@dataclass
class History:
    """An address and its history."""

    anyone: Client
    runner: Runner
    email: str
    seen: list[str | None] = field(default_factory=lambda: [None])
    sent: list[datetime] = field(default_factory=list)
    messages: Sequence[Received] = ()

    async def step(self, step: str) -> None:
        """Run one step and its jobs."""
        if step in WAITS:
            clock.move(WAITS[step])
            async with self.runner.database.transaction() as conn:
                await queue.defer(conn, leads_jobs.expire, timestamp=0)
        elif step == "bounce":
            self.runner.server.script.rcpt = ["550 5.1.1 no such user"]
            await submit(self.anyone, self.email)
        elif step == "ask":
            await submit(self.anyone, self.email)
        elif step == "confirm" and self.messages:
            await confirm(self.anyone, token_of(self.messages[-1]))
        elif step == "stop" and self.messages:
            await self.anyone.post(unsubscribe_path(self.messages[-1]))
        before, self.messages = len(self.messages), await self.runner.messages(self.email)
        self.runner.server.script.rcpt = []
        self.sent += [clock.now()] * (len(self.messages) - before)
        self.seen.append(await self.runner.status(self.email))


@given(steps=STEPS)
@cases(5)
async def test_all_transitions_are_allowed(anyone: Client, runner: Runner, steps: list[str]) -> None:
    history = History(anyone, runner, f"h-{ids.new().hex}@example.net")
    for step in steps:
        await history.step(step)

    for before, after in zip(history.seen, history.seen[1:], strict=False):
        assert after == before or after in MOVES[before], history.seen
    for n, at in enumerate(history.sent):
        assert all(at - earlier >= timedelta(minutes=15) for earlier in history.sent[:n])
        assert sum(at - earlier < timedelta(days=1) for earlier in history.sent[: n + 1]) <= 5
    if "confirmed" in history.seen:
        assert "confirm" in steps


async def test_one_of_concurrent_reservations_succeeds(database: Database, conn: Conn, email: str) -> None:
    now = clock.now()
    lead = await store.ensure(conn, email=email, now=now)

    async def reserve() -> bool:
        async with database.connection() as own:  # without the lock on the address
            return await store.reserve(own, lead_id=lead.id, now=now)

    assert sorted(await asyncio.gather(*(reserve() for _ in range(8)))) == [*[False] * 7, True]


async def test_one_of_concurrent_jobs_sends(
    anyone: Client, runner: Runner, database: Database, keyring: Keyring, email: str
) -> None:
    answers = await asyncio.gather(*(submit(anyone, email) for _ in range(30)))
    context: Any = SimpleNamespace(
        additional_context={"database": database, "keyring": keyring, "settings": runner.settings}
    )
    await asyncio.gather(
        *(leads_jobs.process_request.func(context, request_id=each.json()["id"]) for each in answers)
    )

    assert len(await runner.messages(email)) == 1
    lead = await runner.lead(email)
    assert lead is not None
    assert lead.send_count == 1
