"""As test_crash, for a plan with all kinds of resources."""

import random
from collections import Counter
from typing import Any

import pytest

from builders.app import Service
from builders.identity.records import Preset
from builders.kit.db.connections import Conn, Database
from tests.cast import make_person
from tests.domains.make import assign
from tests.plans.failures import FaultyProxy, is_interrupted, stride
from tests.plans.make import (
    Json,
    alias,
    apply_manifest,
    full_manifest,
    plan_manifest,
    promote,
    unique_domain,
    webhook,
)

COMMITS, STATEMENTS = 20, 400  # more than a promotion has
EVENTS = r"^(alias|promotion|project|webhook|invoice|domain\.updated)"


class Account:
    """A new account with resources of all kinds, which are changed, created, replaced and deleted."""

    def __init__(self, service: Service, conn: Conn, domain: str) -> None:
        self.service, self.conn, self.domain = service, conn, domain

    async def prepare(self) -> None:
        """Create the resources before the plan."""
        self.person = await make_person(self.service, name="one", preset=Preset.DEVELOPER_FULL)
        self.own, self.tag = unique_domain("own"), unique_domain()[:-8][-12:]
        await assign(self.service, self.person, self.own)
        await apply_manifest(self.person, self._manifest("before", "dropped", alias_limit=10))
        await self.conn.execute("DELETE FROM kit_outbox WHERE account_id = %s", [self.person.account.id])

    def wanted(self) -> Json:
        """Return the manifest to promote."""
        return self._manifest("after", "made", alias_limit=20)

    def _manifest(self, other: str, extra: str, **members: Any) -> Json:
        names = {"changed": f"changed{self.tag}", "replaced": f"{other}{self.tag}", extra: f"{extra}{self.tag}"}
        return full_manifest(
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
        """Assert that each change happened and was published once, and that one invoice bills the claims."""
        again = await promote(self.person, planned)
        assert (again["status"], again["summary"]) == ("succeeded", {"succeeded": len(planned["actions"])})
        assert {step["attempts"] for step in again["steps"]} == {1}
        assert (await plan_manifest(self.person, self.wanted()))["status"] == "empty"
        assert [each["total"]["amount"] for each in again["invoices"]] == ["24.00"]
        cursor = await self.conn.execute(
            "SELECT name FROM kit_outbox WHERE account_id = %s AND name ~ %s", [self.person.account.id, EVENTS]
        )
        published = Counter(row[0] for row in await cursor.fetchall())
        assert published == {
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
            "invoice.created": 3,  # its own, and one reissued after each undone claim
            "invoice.voided": 2,
            "promotion.completed": 1,
        }


def places(end: int, step: int) -> range:
    """Return every `step`th place before the end, from a random start."""
    return range(random.randint(1, step), end, step)  # noqa: S311 - a test needs no secret randomness


@pytest.fixture
def account(service: Service, conn: Conn, domain: str) -> Account:
    """Return a factory of accounts with resources of all kinds."""
    return Account(service, conn, domain)


async def test_it_survives_a_crash_after_any_commit(
    account: Account, proxied_database: Database, proxy: FaultyProxy
) -> None:
    for at in places(COMMITS, stride(4)):
        await account.prepare()
        planned = await plan_manifest(account.person, account.wanted())
        proxy.set(after_commit=at)
        is_dead = await is_interrupted(proxied_database, account.person, planned)
        await account.check(planned)
        if not is_dead:
            break
    assert not proxy.is_broken
    assert proxy.commits == 13  # start, twelve stages; the last batch completes it


async def test_it_survives_a_crash_before_a_statement(
    account: Account, proxied_database: Database, proxy: FaultyProxy
) -> None:
    for at in places(STATEMENTS, stride(50)):
        await account.prepare()
        planned = await plan_manifest(account.person, account.wanted())
        proxy.set(before=at)
        await is_interrupted(proxied_database, account.person, planned)  # not by a lost BEGIN, which is repeated
        await account.check(planned)
        if not proxy.is_broken:
            break
    assert not proxy.is_broken
    assert at > 100
