"""The number of statements does not depend on the number of names; the number of function calls is linear."""

import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from types import FrameType

import pytest

from builders.kit.callers import OPERATOR
from builders.kit.db.connections import Conn, Database
from builders.kit.process.settings import Settings
from builders.plans import planning
from builders.plans.promotion import run
from builders.plans.records import OnError, Plan, Promotion, PromotionRequest, PromotionStatus
from builders.plans.schemas.manifests import SandboxManifest
from tests.cast import Person
from tests.plans.make import Json, alias, make_addresses, manifest, parameters, promote_over, promotion_request
from tests.wire import counted


@pytest.fixture
async def single_connection(conninfo: str, settings: Settings) -> AsyncIterator[Database]:
    """Return a pool of one connection, which a promotion uses alone."""
    database = Database(conninfo, settings.model_copy(update={"pool_size": 1}))
    await database.open()
    yield database
    await database.close()


class Counted:
    """Plan and promote over a single connection, and count the statements."""

    def __init__(self, database: Database, folder: Path, person: Person) -> None:
        self.database, self.path, self.person = database, folder / "wire", person
        self.account_id = person.account.id
        self.outbound = person.service.api.state.outbound

    async def plan(self, body: Json) -> tuple[Plan, int]:
        wanted = SandboxManifest.model_validate(body).manifest()
        async with self.database.connection() as conn:
            watched = counted(conn, self.path)
        with watched as sent:
            plan = await planning.make_plan(
                self.database,
                outbound=self.outbound,
                account_id=self.account_id,
                manifest=wanted,
                cooling_off=timedelta(hours=24),
                actor=OPERATOR,
            )
        return plan, sent[0]

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
            watched = counted(conn, self.path)
        with watched as sent:
            promotion = await run.promote(
                self.database,
                outbound=self.outbound,
                account_id=self.account_id,
                request=order,
                actor=OPERATOR,
                parameters=parameters(self.person),
            )
            if promotion.status is PromotionStatus.RUNNING:  # a large promotion, which a job would run
                promotion = await run.run_promotion(
                    self.database,
                    account_id=self.account_id,
                    promotion_id=promotion.id,
                    parameters=parameters(self.person),
                )
        assert promotion.status is PromotionStatus.SUCCEEDED
        return promotion, sent[0]


async def test_the_statements_are_counted(conn: Conn, tmp_path: Path) -> None:
    with counted(conn, tmp_path / "wire") as sent:
        for _ in range(7):
            await conn.execute("SELECT %s::int", [1])
        async with conn.transaction():
            await conn.execute("SELECT 1")
    assert sent == [10]


async def test_ten_times_the_names_take_as_many_statements(
    single_connection: Database, tmp_path: Path, alice: Person, domain: str
) -> None:
    """For claims, updates, replacements and releases."""
    watched = Counted(single_connection, tmp_path, alice)
    first, _ = await watched.plan(manifest([alias(f"first@{domain}")], name="first"))
    await watched.promote(first)  # the first promotion of an account finds no earlier one
    sent: list[list[tuple[int, int]]] = []
    for size in (10, 100):  # sizes that the request promotes
        name, old = f"of-{size}", [f"s{size}{each}" for each in make_addresses(size, domain)]
        keys = [f"k{at}" for at in range(size)]
        stages: list[list[Json]] = [
            [alias(each, key=key) for each, key in zip(old, keys, strict=True)],
            [alias(each, "new@example.net", key=key) for each, key in zip(old, keys, strict=True)],
            [alias(f"new{each}", key=key) for each, key in zip(old, keys, strict=True)],
            [],
        ]
        counts = []
        for stage in stages:
            plan, planning = await watched.plan(manifest(stage, name=name, prune=True))
            assert len(plan.actions) == size
            promotion, promoting = await watched.promote(plan)
            assert len(promotion.steps) == size
            counts.append((planning, promoting))
        sent.append(counts)
    few, many = sent
    assert few == many
    assert max(planning for planning, _ in many) <= 16
    assert max(promoting for _, promoting in many) <= 65


FEW, MANY, MAX_RATIO = 100, 1000, 12


class Calls:
    """The number of function calls in a block, of Python and of C."""

    count = 0

    def _count(self, _frame: FrameType, event: str, _argument: object) -> None:
        self.count += event in {"call", "c_call"}

    @contextmanager
    def counted(self) -> Iterator[None]:
        sys.setprofile(self._count)
        try:
            yield
        finally:
            sys.setprofile(None)


async def test_ten_times_the_names_make_at_most_twelve_times_the_calls(
    alice: Person, database: Database, domain: str
) -> None:
    await calls_of(alice, database, domain, size=10)  # fills caches
    few, many = [await calls_of(alice, database, domain, size=size) for size in (FEW, MANY)]
    assert many[0] <= MAX_RATIO * few[0], "planning"
    assert many[1] <= MAX_RATIO * few[1], "promoting"


async def calls_of(person: Person, database: Database, domain: str, *, size: int) -> tuple[int, int]:
    """Return the number of calls to plan, and to promote, so many names."""
    planning, promoting = Calls(), Calls()
    names = [alias(f"n{size}x{each}") for each in make_addresses(size, domain)]
    with planning.counted():
        plan = await planned(person, database, f"n{size}", names)
    with promoting.counted():
        await promoted(person, database, plan)
    return planning.count, promoting.count


async def planned(person: Person, database: Database, name: str, names: list[dict[str, object]]) -> Plan:
    body = SandboxManifest.model_validate(manifest(names, name=name))
    return await planning.make_plan(
        database,
        outbound=person.service.api.state.outbound,
        account_id=person.account.id,
        manifest=body.manifest(),
        cooling_off=timedelta(hours=24),
        actor=OPERATOR,
    )


async def promoted(person: Person, database: Database, plan: Plan) -> None:
    consent = {"id": str(plan.id), "digest": plan.digest, "confirm_deletes": 0}
    started = await promote_over(database, person, promotion_request(consent))
    ended = await run.run_promotion(
        database, account_id=person.account.id, promotion_id=started.id, parameters=parameters(person)
    )
    assert {step.status for step in ended.steps} == {"succeeded"}
