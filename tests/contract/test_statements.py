"""The statements that a request sends to PostgreSQL, and why it sends each.

A package reads its own tables only, so what several packages have takes several statements. What is decided under
a lock is read after it, to see what its former holder committed. Rows of two tables have two statements: Citus
sends the rows of a CTE that another table gets to all nodes.
"""

from collections.abc import Awaitable, Mapping, Sequence
from pathlib import Path

import httpx
import pytest

from builders.kit.db.connections import Database
from builders.kit.values import clock
from tests.cast import Person
from tests.console import portfolio_scene
from tests.console.visitor import Visitor
from tests.plans import make
from tests.wire import counted_of_pools

# Of an account with names and a portfolio, but no registrar. Credentials are cached, except for a promotion.
STATEMENTS: Mapping[str, Sequence[str]] = {
    "PATCH of a portfolio domain": (
        "BEGIN",
        "domain, locked: it is compared with the patch",
        "time zone: the day decides the lifecycle",
        "domain, with its tags, history and values",
        "event",
        "figures: a price or a status changes them",
        "COMMIT",
    ),
    "POST of a plan of a name": (
        "BEGIN",
        "projects",
        "domains of the catalog",
        "domains of the account: those that the manifest manages, too",
        "webhooks: the manifest may have left one out",
        "aliases, with released ones that a claim continues",
        "availability: names of all accounts",
        "overdue invoice: it refuses claims",
        "plan, and the oldest ones deleted",
        "event",
        "COMMIT",
        "policy and decisions about the digest, as in each reply with a plan",
    ),
    "promotion of a name": (
        "key: promoting verifies it each time (decision 0009)",
        "plan: its URLs are resolved before the transaction",
        "BEGIN",
        "slot, locked",
        "promotions of the plan and the slot, after the lock",
        "account: its address is verified",
        "key, after the lock: none that was revoked starts anything",
        "policy and decisions, after the lock",
        "amount without an approval",
        "skeletons, locked in one order",
        "SAVEPOINT: if a name is refused, the others are given back",
        "names",
        "skeletons: their numbers of names",
        "RELEASE",
        "domains of the account, compared with the plan",
        "domains of the catalog, compared with the plan",
        "aliases, compared with the plan",
        "overdue invoice",
        *("promotion", "steps"),
        "audit",
        "COMMIT: a crash of a batch finds the promotion",
        "BEGIN",
        "promotion, locked: concurrent runs alternate",
        "steps, after the lock",
        "routes, locked",
        "overdue invoice: a batch can run long after the start",
        "released aliases, locked: none can be continued meanwhile",
        "reserved names, claimed",
        *("keys of other aliases", "aliases"),
        "account: its own address is confirmed",
        "destinations",
        "what the mail server is told",
        "event",
        *("aliases ahead", "their names: another change can have closed a loop"),
        "steps: they stay if the completion fails",
        "SAVEPOINT: the completion can fail",
        "event",
        "claims, locked: a release can have undone one",
        "account: the buyer",
        "counter of the series: on a node of its own",
        "draft, and the lock of the credit",
        "number: it leads to the invoice, from another shard",
        "invoice, with the credit after the lock",
        "event",
        "promotion, plan and steps",
        "RELEASE",
        "COMMIT",
        "destinations that are not confirmed",
        "invoices that are not paid",
    ),
    "page of a portfolio domain": (
        *("accounts of the teams of the person", "account of the person", "time zone of the person"),
        *("domain", "time zone", "figures"),
        *("domain", "time zone", "sales and visits", "entries"),
        *("domain", "time zone", "transfer", "connections", "answer of the registry"),
        *("holdings", "listings"),
        "history",
        *("members", "memberships", "accounts", "invitations"),
    ),
    "inbox": (
        *("accounts of the teams of the person", "account of the person", "time zone of the person"),
        "approval requests",
        *("members", "memberships", "accounts", "invitations"),
        "plans",
        "deliveries",
        "destinations",
        "invoices",
        *("domains", "number of their names"),
        "webhooks",
        "suspended names",
        *("time zone", "base currency", "due domains", "decisions", "domains", "entries and visits", "sums"),
        *("BEGIN", "isolation: psycopg would set that of the connection", "time zone", "connections", "COMMIT"),
    ),
}


@pytest.fixture
def _stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no cached credential expire."""
    at = clock.monotonic()
    monkeypatch.setattr(clock, "monotonic", lambda: at)


@pytest.mark.usefixtures("_stopped")
async def test_a_request_sends_no_more_statements_than_before(
    alice: Person, database: Database, tmp_path: Path, assets: Path
) -> None:
    domain = await make.Domains(database, folder=tmp_path, assets=assets)()
    domain_id = await portfolio_scene.fill(alice)
    found: dict[str, int] = {}

    async def send(name: str, request: Awaitable[httpx.Response]) -> httpx.Response:
        with counted_of_pools(tmp_path) as sent:
            answer = await request
        assert answer.status_code == 200, answer.text
        [count] = sent
        found[name] = min(count, found.get(name, count))
        return answer

    async with Visitor(alice, await alice.sign_in()) as browser, alice.browser() as member:
        for at in range(3):  # the first requests fill caches, and a value that expires is read again
            patch = member.patch(f"{portfolio_scene.DOMAINS}/{domain_id}", json={"notes": f"Note {at}"})
            await send("PATCH of a portfolio domain", patch)
            manifest = make.manifest([make.alias(f"name{at}@{domain}")], name=f"statements-{at}")
            planned = await send("POST of a plan of a name", alice.post(make.PLAN, json=manifest))
            promotion = alice.post(make.PROMOTE, json=make.promotion_request(planned.json()))
            await send("promotion of a name", promotion)
            await send("page of a portfolio domain", browser.get(f"/console/portfolio/domains/{domain_id}"))
            await send("inbox", browser.get("/console"))
    assert found == {name: len(each) for name, each in STATEMENTS.items()}
