"""What mail servers are told is the truth after any changes; what is not is found and repaired."""

import random
from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta

import pytest
from hypothesis import given, strategies as st

from builders.aliases import claims, confirmations
from builders.aliases.errors import NamesRefused
from builders.aliases.records import Name
from builders.app import Service
from builders.domains import account_domains
from builders.forwarding import correspondents, jobs, lookup_checks
from builders.kit.db.connections import Conn, Database
from builders.kit.errors import Problem
from builders.kit.jobs import queue
from builders.kit.values import clock, ids
from tests.aliases.make import ALIASES, FREE, AliasWorker, Owner, change, fresh, fresh_address, prune, wanted
from tests.cast import Person
from tests.domains.make import PATH, assign
from tests.forwarding.make import list_wrong, set_catch_all, tell
from tests.forwarding.postfix import MailServer
from tests.plans.make import Domains, alias, apply
from tests.random_cases import cases

LOCAL_PARTS = ("ada", "bob", "a.da")
STEPS = (
    *("claim", "change", "release", "hold", "free", "confirm", "pause", "end_pauses", "reply", "erase"),
    *("catch_all", "assign", "unassign", "prune", "share"),
)


class History:
    """Changes of two accounts on a domain of the catalog, and on one that an account can hold."""

    def __init__(self, people: Sequence[Person], service: Service, domains: Domains, shared: str) -> None:
        self.people, self.service, self.domains, self.shared = people, service, domains, shared
        self.database: Database = service.api.state.database
        self.own, self.emails = fresh("own"), [fresh_address(), fresh_address()]

    async def take(self, step: str, seed: int) -> None:
        """Take a step of some person on some domain; what is refused changes nothing."""
        self.choose = random.Random(seed)  # noqa: S311 - a choice of changes
        self.person, self.domain = self.choose.choice(self.people), self.choose.choice([self.shared, self.own])
        self.owner = Owner.of(self.database, self.person)
        self.email = self.choose.choice([*self.emails, self.person.account.email])
        self.alias = self.choose.choice([*(await self.owner.aliases()).values(), None])
        if step in {"change", "release", "reply"} and self.alias is None:
            step = "claim"
        with suppress(Problem, NamesRefused):
            await getattr(self, step)()

    async def claim(self) -> None:
        local_part, key = self.choose.choice(LOCAL_PARTS), ids.new().hex
        reply = self.choose.random() < 0.7
        await self.owner.claim_one(
            local_part, self.domain, self.email, price=FREE, reply=reply, manifest_key=key, enabled=True
        )

    async def change(self) -> None:
        assert self.alias is not None
        until = clock.now() + timedelta(hours=self.choose.choice([-1, 1]))
        await self.owner.update(
            change(
                self.alias,
                enabled=self.choose.random() < 0.7,
                destinations=self.choose.sample(self.emails, self.choose.randint(1, 2)),
                block=self.choose.choice([[], ["spam.example"]]),
                pause_until=self.choose.choice([None, until]),
                reply=self.choose.random() < 0.5,
            )
        )

    async def release(self) -> None:
        assert self.alias is not None
        await self.owner.release(self.alias, quarantine=timedelta(minutes=self.choose.choice([0, 10, 90])))

    async def hold(self) -> None:
        await self.owner.reserve(wanted(self.choose.choice(LOCAL_PARTS), self.domain))

    async def free(self) -> None:
        await self.owner.release_reservations(*(Name(self.domain, key) for key in ("ada", "bob")))

    async def confirm(self) -> None:
        async with self.database.transaction() as conn:
            await confirmations.verify_destination(conn, account_id=self.person.account.id, email=self.email)

    async def pause(self) -> None:
        async with self.database.transaction() as conn:
            await confirmations.pause_destinations(
                conn,
                keyring=self.service.api.state.keyring,
                account_id=self.person.account.id,
                emails=[self.email.upper()],
            )

    async def end_pauses(self) -> None:
        clock.move(timedelta(hours=1))
        async with self.database.transaction() as conn:
            await claims.end_pauses(conn)

    async def reply(self) -> None:
        assert self.alias is not None
        await self.person.post(f"{ALIASES}/{self.alias.id}/correspondents", json={"email": fresh_address()})

    async def erase(self) -> None:
        if self.alias is None:
            clock.move(timedelta(days=91))
            await correspondents.prune(self.database)
            return
        path = f"{ALIASES}/{self.alias.id}/correspondents"
        for each in (await self.person.get(path)).json()["items"]:
            await self.person.delete(f"{path}/{each['id']}")

    async def catch_all(self) -> None:
        members = {"catch_all": self.choose.random() < 0.7, "default_destination": self.email}
        for held in (await self.person.get(PATH)).json()["items"]:
            await self.person.patch(f"{PATH}/{held['id']}", json=members)

    async def assign(self) -> None:
        await assign(self.service, self.person, self.own)

    async def unassign(self) -> None:
        async with self.database.transaction() as conn:
            await account_domains.unassign(conn, domain=self.own, with_names=self.choose.random() < 0.7)

    async def prune(self) -> None:
        clock.move(timedelta(minutes=self.choose.choice([5, 30])))
        await prune(self.database)

    async def share(self) -> None:
        await self.domains(self.choose.choice([self.shared, self.own]), tagline=ids.new().hex)


@cases(6)
@given(st.lists(st.tuples(st.sampled_from(STEPS), st.integers(0, 2**32)), min_size=5, max_size=25))
async def test_after_any_changes_mail_servers_are_told_the_truth(
    alice: Person, bob: Person, service: Service, domains: Domains, steps: list[tuple[str, int]]
) -> None:
    history = History([alice, bob], service, domains, await domains())
    for step, seed in steps:
        await history.take(step, seed)
        found = [
            each for each in await list_wrong(history.database) if each.endswith((history.own, history.shared))
        ]
        assert found == [], step


async def test_what_is_wrong_is_found_and_repaired(
    alice: Person, service: Service, shared: str, domain: str, conn: Conn, database: Database, lookups: MailServer
) -> None:
    address, own = f"ada@{shared}", alice.account.email
    await apply(alice, alias(address, own))
    await set_catch_all(alice, service, domain, own)
    await tell(database)  # of what other tests wrote
    for statement in (
        "UPDATE aliases_lookups SET destinations = '{}' WHERE domain = %(shared)s AND name = 'ada'",
        "DELETE FROM aliases_lookups WHERE domain = %(domain)s",
        "INSERT INTO aliases_lookups (domain, name, is_claimed) VALUES (%(shared)s, 'eve', true)",
    ):
        await conn.execute(statement, {"shared": shared, "domain": domain})
    assert await list_wrong(database) == sorted(
        [f"@{domain}", address, f"eve@{shared}"], key=lambda each: each.rpartition("@")[::-1]
    )
    await tell(database)
    assert await lookups.ask("alias", address) == f"OK {own}"
    assert await lookups.ask("alias", f"any@{domain}") == f"OK {own}"


@pytest.mark.parametrize("size", [1, 2, 3])
async def test_what_is_wrong_is_found_on_each_page(
    alice: Person, shared: str, conn: Conn, database: Database, size: int
) -> None:
    await tell(database)
    addresses = [f"{name}@{shared}" for name in ("ada", "bob", "eve")]
    for each in addresses:
        await apply(alice, alias(each, alice.account.email))
    await conn.execute("DELETE FROM aliases_lookups WHERE domain = %s", [shared])
    assert await lookup_checks.list_wrong(database, page=size) == [f"@{shared}", *addresses]
    await tell(database)


async def test_the_nightly_check_repairs_what_is_wrong_ten_minutes_later_too(
    alice: Person, shared: str, conn: Conn, database: Database, lookups: MailServer, worker: AliasWorker
) -> None:
    address, own = f"ada@{shared}", alice.account.email
    await apply(alice, alias(address, own))
    await conn.execute("DELETE FROM aliases_lookups WHERE domain = %s AND name = 'ada'", [shared])
    async with database.transaction() as changing:
        await queue.defer(changing, jobs.check_lookups, timestamp=0)
    await worker.work()
    assert (await lookups.ask("recipient", address)).startswith("OK 550")
    await conn.execute("UPDATE procrastinate_jobs SET scheduled_at = NULL WHERE scheduled_at IS NOT NULL")
    await worker.work()
    assert await lookups.ask("alias", address) == f"OK {own}"
