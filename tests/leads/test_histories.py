"""Whatever happens to an address, in whatever order: the states keep to their rules, and few letters go out."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from types import SimpleNamespace
from typing import Any

from hypothesis import HealthCheck, given, settings as limits, strategies as st

from builders.kit.db.connections import Conn, Database
from builders.kit.jobs import queue
from builders.kit.process.secret_keys import Keyring
from builders.kit.values import clock, ids
from builders.leads import jobs as leads_jobs
from builders.leads.store import leads as store
from builders.mail.records import VENDOR
from tests.cast import Client
from tests.leads.make import Desk, ask, confirm, stop_of, token_of
from tests.mail.smtp_server import Received

# From each state, where one step may lead; to stay is always possible.
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
class Life:
    """An address, and what happened to it."""

    anyone: Client
    desk: Desk
    email: str
    seen: list[str | None] = field(default_factory=lambda: [None])
    sent: list[datetime] = field(default_factory=list)
    letters: Sequence[Received] = ()

    async def live(self, step: str) -> None:
        """One step, and all that comes of it."""
        if step in WAITS:
            clock.move(WAITS[step])
            async with self.desk.database.transaction() as conn:
                await queue.defer(conn, leads_jobs.expire, timestamp=0)
        elif step == "bounce":
            self.desk.server.script.rcpt = ["550 5.1.1 no such user"]
            await ask(self.anyone, self.email)
        elif step == "ask":
            await ask(self.anyone, self.email)
        elif step == "confirm" and self.letters:
            await confirm(self.anyone, token_of(self.letters[-1]))
        elif step == "stop" and self.letters:
            await self.anyone.post(stop_of(self.letters[-1]))
        before, self.letters = len(self.letters), await self.desk.letters(self.email)
        self.desk.server.script.rcpt = []
        self.sent += [clock.now()] * (len(self.letters) - before)
        self.seen.append(await self.desk.status(self.email))


@given(steps=STEPS)
@limits(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_every_history_keeps_to_the_rules(anyone: Client, desk: Desk, steps: list[str]) -> None:
    life = Life(anyone, desk, f"h-{ids.new().hex}@example.net")
    for step in steps:
        await life.live(step)

    for before, after in zip(life.seen, life.seen[1:], strict=False):
        assert after == before or after in MOVES[before], life.seen
    for n, at in enumerate(life.sent):
        assert all(at - earlier >= timedelta(minutes=15) for earlier in life.sent[:n])
        assert sum(at - earlier < timedelta(days=1) for earlier in life.sent[: n + 1]) <= 5
    if "confirmed" in life.seen:
        assert "confirm" in steps


async def test_of_many_at_once_the_database_lets_one_send(database: Database, conn: Conn, email: str) -> None:
    now = clock.now()
    lead = await store.ensure(conn, account_id=VENDOR, lead_id=ids.new(), email=email, now=now)

    async def reserve() -> bool:
        async with database.connection() as own:  # no lock is held: the statement alone decides
            return await store.reserve(
                own,
                account_id=VENDOR,
                lead_id=lead.id,
                now=now,
                gap_ago=now - timedelta(minutes=15),
                day_ago=now - timedelta(days=1),
                rested=now,
                most=5,
            )

    assert sorted(await asyncio.gather(*(reserve() for _ in range(8)))) == [*[False] * 7, True]


async def test_of_many_workers_at_once_one_sends(
    anyone: Client, desk: Desk, database: Database, keyring: Keyring, email: str
) -> None:
    answers = await asyncio.gather(*(ask(anyone, email) for _ in range(30)))
    kept: Any = SimpleNamespace(
        additional_context={"database": database, "keyring": keyring, "settings": desk.settings}
    )
    await asyncio.gather(*(leads_jobs.take.func(kept, request_id=each.json()["id"]) for each in answers))

    assert len(await desk.letters(email)) == 1
    lead = await desk.lead(email)
    assert lead is not None
    assert lead.send_count == 1
