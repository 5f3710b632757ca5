"""A promotion survives the death of its process at every statement: called again it is whole, and done once."""

import random
from collections import Counter
from collections.abc import Iterator

import pytest

from builders.aliases import service as aliases
from builders.aliases.records import AliasSpec, PriceInterval
from builders.kit.db.connections import Conn, Database
from builders.kit.errors import DatabaseUnavailable
from builders.kit.values import ids
from builders.kit.values.money import Money
from tests.cast import Person
from tests.sandbox.cutter import Cutter
from tests.sandbox.make import Json, alias, events, order, plan, promote, run

STATEMENTS, COMMITS = 200, 12  # more than a promotion has
STRIDE = 3  # a run tries every third statement, from a random one on


class Mixed:
    """Manifests that change, claim, replace and release a name each."""

    def __init__(self, person: Person, conn: Conn, domain: str) -> None:
        self.person, self.conn, self.domain = person, conn, domain

    def address(self, local_part: str, at: str) -> str:
        return f"{local_part}{at}@{self.domain}"

    async def prepare(self, *tags: str) -> None:
        """The names that are there before, of all manifests at once."""
        specs = [
            AliasSpec(
                id=ids.new(),
                domain=self.domain,
                local_part=f"{key}{tag}",
                key=f"{key}{tag}",
                skeleton=f"{key}{tag}",
                destinations=["ada@example.net"],
                enabled=True,
                note=None,
                labels={},
                manifest=f"of-{tag}",
                manifest_key=key,
                price=Money.of("12.00", "USD"),
                interval=PriceInterval.YEAR,
            )
            for tag in tags
            for key in ("changed", "replaced", "dropped")
        ]
        async with self.conn.transaction():
            await aliases.create_aliases(self.conn, account_id=self.person.account.id, specs=specs)

    async def plan(self, tag: str) -> Json:
        """What is wanted of one of them."""
        return await plan(
            self.person,
            alias(f"changed{tag}@{self.domain}", "new@example.net", key="changed"),
            alias(f"created{tag}@{self.domain}", key="created"),
            alias(f"other{tag}@{self.domain}", key="replaced"),
            name=f"of-{tag}",
            prune=True,
        )

    async def check(self, *tags: str) -> None:
        """All is there once, and was told of once."""
        for tag in tags:
            assert (await self.plan(tag))["status"] == "empty"
        told = Counter(
            (data["manifest"], name, data.get("address", "").partition("@")[0])
            for name, data in await events(self.conn, self.person)
            if data["manifest"].removeprefix("of-") in tags
        )
        assert told == {each: 1 for tag in tags for each in self._news(tag)}

    @staticmethod
    def _news(tag: str) -> Iterator[tuple[str, str, str]]:
        for key in ("changed", "replaced", "dropped", "created", "other"):
            yield f"of-{tag}", "alias.created", f"{key}{tag}"
        yield f"of-{tag}", "alias.updated", f"changed{tag}"
        yield f"of-{tag}", "alias.deleted", f"replaced{tag}"
        yield f"of-{tag}", "alias.deleted", f"dropped{tag}"
        yield f"of-{tag}", "promotion.completed", ""


@pytest.fixture
def mixed(alice: Person, conn: Conn, domain: str) -> Mixed:
    """Alice's."""
    return Mixed(alice, conn, domain)


async def test_it_dies_before_any_of_its_statements(mixed: Mixed, frail: Database, cut: Cutter) -> None:
    places = range(random.randint(1, STRIDE), STATEMENTS, STRIDE)  # noqa: S311 - a place to start
    tags = [f"s{at}" for at in places]
    await mixed.prepare(*tags)
    for at, tag in zip(places, tags, strict=True):
        planned = await mixed.plan(tag)
        cut.set(before=at)
        if not await dies(frail, mixed.person, planned):
            break
        again = await promote(mixed.person, planned)
        assert (again["status"], again["summary"]) == ("succeeded", {"succeeded": 4})
    assert not cut.was_cut
    assert at > 50
    await mixed.check(*tags[: places.index(at) + 1])


async def test_it_dies_after_any_of_its_commits(mixed: Mixed, frail: Database, cut: Cutter) -> None:
    """What was done then, nobody was told; it must not be done again."""
    tags = [f"c{at}" for at in range(1, COMMITS)]
    await mixed.prepare(*tags)
    for at, tag in enumerate(tags, start=1):
        planned = await mixed.plan(tag)
        cut.set(after_commit=at)
        if not await dies(frail, mixed.person, planned):
            break
        again = await promote(mixed.person, planned)
        assert [step["attempts"] for step in again["steps"]] == [1, 1, 1, 1]
    assert not cut.was_cut
    assert cut.commits == 6  # the beginning, four kinds of action, the end
    await mixed.check(*tags[:at])


async def dies(database: Database, person: Person, planned: Json) -> bool:
    """Promotes over the wire that is to be cut; whether it was."""
    try:
        await run(database, person, order(planned))
    except DatabaseUnavailable:
        return True
    return False
