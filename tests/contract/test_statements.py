"""How many statements a request sends to PostgreSQL, with BEGIN, COMMIT and savepoints."""

from collections.abc import Awaitable, Mapping
from pathlib import Path

import httpx
import pytest

from builders.kit.db.connections import Database
from builders.kit.values import clock
from tests.cast import Person
from tests.console import portfolio_scene
from tests.console.visitor import Visitor
from tests.sandbox import make
from tests.wire import counted_of_pools

# Of an account with names and a portfolio, but no registrar. Credentials are cached, except for a promotion.
STATEMENTS: Mapping[str, int] = {
    "PATCH of a portfolio domain": 7,
    "POST of a plan of a name": 12,
    "promotion of a name": 44,
    "page of a portfolio domain": 21,
    "inbox": 26,
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
        found[name] = sum(sent)
        return answer

    async with Visitor(alice, await alice.sign_in()) as browser, alice.browser() as member:
        for at in range(2):  # the first requests fill caches
            patch = member.patch(f"{portfolio_scene.DOMAINS}/{domain_id}", json={"notes": f"Note {at}"})
            await send("PATCH of a portfolio domain", patch)
            manifest = make.manifest([make.alias(f"name{at}@{domain}")], name=f"statements-{at}")
            planned = await send("POST of a plan of a name", alice.post(make.PLAN, json=manifest))
            promotion = alice.post(make.PROMOTE, json=make.promotion_request(planned.json()))
            await send("promotion of a name", promotion)
            await send("page of a portfolio domain", browser.get(f"/console/portfolio/domains/{domain_id}"))
            await send("inbox", browser.get("/console"))
    assert found == STATEMENTS
