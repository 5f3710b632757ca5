"""A manifest of hundreds of names is a handful of statements: counted on the wire, as libpq sends them."""

import re
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import pytest
from psycopg.pq import Trace

from builders.kit.db.connections import Conn, Database
from builders.kit.http.callers import OPERATOR
from builders.kit.process.settings import Settings
from builders.sandbox import service as sandbox
from builders.sandbox.records import OnError, Plan, Promotion, PromotionRequest, PromotionStatus, TargetAccount
from builders.sandbox.schemas.manifest import SandboxManifest
from tests.cast import Person
from tests.sandbox.make import Json, alias, crew, manifest, parameters

# What the frontend sends to have something executed: a simple query, or a portal of the extended protocol.
SENT = re.compile(r"^F\t\d+\t(?:Query|Execute)\b", re.MULTILINE)


class Wire:
    """What went over one connection to PostgreSQL."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @contextmanager
    def watched(self, conn: Conn) -> Iterator[None]:
        """Writes down what is sent in the block, and nothing of before."""
        with self._path.open("wb") as file:
            conn.pgconn.trace(file.fileno())
            conn.pgconn.set_trace_flags(Trace.SUPPRESS_TIMESTAMPS)
            try:
                yield
            finally:
                conn.pgconn.untrace()

    def statements(self) -> int:
        """How many statements that was."""
        return len(SENT.findall(self._path.read_text(encoding="utf-8", errors="replace")))


@pytest.fixture
async def single(conninfo: str, settings: Settings) -> AsyncIterator[Database]:
    """A pool of one connection, so that all of a promotion goes over it."""
    database = Database(conninfo, settings.model_copy(update={"pool_size": 1}))
    await database.open()
    yield database
    await database.close()


class Counted:
    """Plans and promotes over a single connection, and counts the statements."""

    def __init__(self, database: Database, wire: Wire, person: Person) -> None:
        self.database, self.wire, self.person = database, wire, person
        self.target = TargetAccount(account_id=person.account.id)
        self.outbound = person.service.api.state.outbound

    async def plan(self, body: Json) -> tuple[Plan, int]:
        wanted = SandboxManifest.model_validate(body).manifest()
        async with self.database.connection() as conn:
            watched = self.wire.watched(conn)
        with watched:
            plan = await sandbox.make_plan(
                self.database,
                outbound=self.outbound,
                target=self.target,
                manifest=wanted,
                cooling_off=timedelta(hours=24),
                actor=OPERATOR,
            )
        return plan, self.wire.statements()

    async def promote(self, plan: Plan) -> tuple[Promotion, int]:
        order = PromotionRequest(
            plan_id=plan.id,
            digest=plan.digest,
            confirm_deletes=plan.removals,
            max_total=None,
            on_error=OnError.STOP,
            resume=False,
        )
        async with self.database.connection() as conn:
            watched = self.wire.watched(conn)
        with watched:
            promotion = await sandbox.promote(
                self.database,
                outbound=self.outbound,
                account_id=self.target.account_id,
                request=order,
                actor=OPERATOR,
                parameters=parameters(self.person),
            )
            if promotion.status is PromotionStatus.RUNNING:  # a large one, which a job would do
                promotion = await sandbox.run_promotion(
                    self.database,
                    account_id=self.target.account_id,
                    promotion_id=promotion.id,
                    parameters=parameters(self.person),
                )
        assert promotion.status is PromotionStatus.SUCCEEDED
        return promotion, self.wire.statements()


@pytest.fixture
def counted(single: Database, tmp_path: Path, alice: Person) -> Counted:
    """Alice's, counted."""
    return Counted(single, Wire(tmp_path / "wire"), alice)


async def test_the_wire_is_watched(counted: Counted) -> None:
    async with counted.database.connection() as conn:
        with counted.wire.watched(conn):
            for _ in range(7):
                await conn.execute("SELECT %s::int", [1])
            async with conn.transaction():
                await conn.execute("SELECT 1")
    assert counted.wire.statements() == 10


async def test_ten_times_the_names_are_as_many_statements(counted: Counted, domain: str) -> None:
    """For each kind of action: names claimed, changed, replaced and given up."""
    first, _ = await counted.plan(manifest([alias(f"first@{domain}")], name="first"))
    await counted.promote(first)  # the first of an account has nobody's turn to end
    sent: list[list[tuple[int, int]]] = []
    for size in (25, 250):  # as many as are promoted in the request
        name, old = f"of-{size}", [f"s{size}{each}" for each in crew(size, domain)]
        keys = [f"k{at}" for at in range(size)]
        stages: list[list[Json]] = [
            [alias(each, key=key) for each, key in zip(old, keys, strict=True)],
            [alias(each, "new@example.net", key=key) for each, key in zip(old, keys, strict=True)],
            [alias(f"new{each}", key=key) for each, key in zip(old, keys, strict=True)],
            [],
        ]
        counts = []
        for stage in stages:
            plan, planning = await counted.plan(manifest(stage, name=name, prune=True))
            assert len(plan.actions) == size
            promotion, promoting = await counted.promote(plan)
            assert len(promotion.steps) == size
            counts.append((planning, promoting))
        sent.append(counts)
    few, many = sent
    assert few == many
    assert max(planning for planning, _ in many) <= 15
    assert max(promoting for _, promoting in many) <= 95
