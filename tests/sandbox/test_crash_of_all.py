"""As test_crash, for a plan with all kinds: dead at any of its steps, called again it is whole, and done once."""

from collections import Counter
from typing import Any

import pytest

from builders.app import Service
from builders.identity.records import Preset
from builders.kit.db.connections import Conn, Database
from builders.kit.errors import DatabaseUnavailable
from tests.cast import Person, make_person
from tests.domains.make import assign
from tests.sandbox.cutter import Cutter
from tests.sandbox.make import Json, alias, apply_of, fresh, order, plan_of, promote, run, webhook, whole

COMMITS, STATEMENTS, STRIDE = 20, 300, 15  # more than a promotion has; every so manyth statement
TOLD = r"^(alias|promotion|project|webhook|invoice|domain\.updated)"


class Estate:
    """An account of its own with resources of all kinds, of which each is changed, made, replaced or given up."""

    def __init__(self, service: Service, conn: Conn, domain: str) -> None:
        self.service, self.conn, self.domain = service, conn, domain

    async def settle(self) -> None:
        """What there is before."""
        self.person = await make_person(self.service, name="one", preset=Preset.DEVELOPER_FULL)
        self.own, self.tag = fresh("own"), fresh()[:-8][-12:]
        await assign(self.service, self.person, self.own)
        await apply_of(self.person, self._manifest("before", "dropped", alias_limit=10))
        await self.conn.execute("DELETE FROM kit_outbox WHERE account_id = %s", [self.person.account.id])

    def wanted(self) -> Json:
        """What is wanted then."""
        return self._manifest("after", "made", alias_limit=20)

    def _manifest(self, other: str, extra: str, **members: Any) -> Json:
        names = {"changed": f"changed{self.tag}", "replaced": f"{other}{self.tag}", extra: f"{extra}{self.tag}"}
        return whole(
            projects=[
                {"key": "changed", "name": "Changed", "slug": "changed", **members},
                {"key": extra, "name": extra, "slug": extra},
            ],
            domains=[{"key": "own", "domain": self.own, "default_destination": f"{other}@example.net"}],
            webhooks=[webhook("changed", label=other), webhook(extra)],
            aliases=[
                alias(
                    f"{name}@{self.domain}", key=key, note=other if key == "changed" else None, project="changed"
                )
                for key, name in names.items()
            ],
            prune=True,
        )

    async def check(self, planned: Json) -> None:
        """All is there once, was told of once, and is on one invoice."""
        again = await promote(self.person, planned)
        assert (again["status"], again["summary"]) == ("succeeded", {"succeeded": len(planned["actions"])})
        assert {step["attempts"] for step in again["steps"]} == {1}
        assert (await plan_of(self.person, self.wanted()))["status"] == "empty"
        assert [each["total"]["amount"] for each in again["invoices"]] == ["24.00"]
        cursor = await self.conn.execute(
            "SELECT name FROM kit_outbox WHERE account_id = %s AND name ~ %s", [self.person.account.id, TOLD]
        )
        told = Counter(row[0] for row in await cursor.fetchall())
        assert told == {
            "project.updated": 1,
            "project.created": 1,
            "project.archived": 1,
            "domain.updated": 1,
            "webhook.updated": 1,
            "webhook.created": 1,
            "webhook.deleted": 1,
            "alias.updated": 1,
            "alias.created": 2,
            "alias.deleted": 2,
            "invoice.created": 3,  # its own, and what is left of the old one after each claim that it undoes
            "invoice.voided": 2,
            "promotion.completed": 1,
        }


@pytest.fixture
def estate(service: Service, conn: Conn, domain: str) -> Estate:
    """Makes accounts with resources of all kinds."""
    return Estate(service, conn, domain)


async def test_it_dies_after_any_of_its_commits(estate: Estate, frail: Database, cut: Cutter) -> None:
    for at in range(1, COMMITS):
        await estate.settle()
        planned = await plan_of(estate.person, estate.wanted())
        cut.set(after_commit=at)
        is_dead = await dies(frail, estate.person, planned)
        await estate.check(planned)
        if not is_dead:
            break
    assert not cut.was_cut
    assert cut.commits == 14  # the beginning, twelve stages, the end


async def test_it_dies_before_its_statements(estate: Estate, frail: Database, cut: Cutter) -> None:
    for at in range(1, STATEMENTS, STRIDE):
        await estate.settle()
        planned = await plan_of(estate.person, estate.wanted())
        cut.set(before=at)
        is_dead = await dies(frail, estate.person, planned)
        await estate.check(planned)
        if not is_dead:
            break
    assert not cut.was_cut
    assert at > 100


async def dies(database: Database, person: Person, planned: Json) -> bool:
    """Promotes over the wire that is to be cut; whether it was."""
    try:
        await run(database, person, order(planned))
    except DatabaseUnavailable:
        return True
    return False
