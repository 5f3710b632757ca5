"""Reads that grow with a portfolio run one at a time for each account."""

import pytest

from tests.cast import Person
from tests.heavy import held_turn
from tests.portfolio.team.make import code

PORTFOLIO = "/v1/portfolio"
SHORT = [
    "/domains?q=harbour",
    "/domains?decision=undecided",
    "/domains?limit=1&folder=none",
    "/domains?sort=-roi",
    "/domains?include_total=true",
    "/tags",
    "/registrars/billing/charges",
]
LONG = ["/summary", "/renewals", "/parking", "/parking.csv?group_by=day"]
REFUSED = (429, "heavy_request_running")


@pytest.mark.parametrize("path", SHORT)
async def test_a_short_read_waits_for_the_short_reads_of_its_account(alice: Person, path: str) -> None:
    async with held_turn(alice.service, ("short", alice.account.id)):
        assert code(await alice.get(PORTFOLIO + path)) == REFUSED


@pytest.mark.parametrize("path", SHORT)
async def test_a_short_read_does_not_wait_for_a_long_request(alice: Person, path: str) -> None:
    async with held_turn(alice.service, alice.account.id):
        assert (await alice.get(PORTFOLIO + path)).status_code == 200


@pytest.mark.parametrize("path", LONG)
async def test_a_report_waits_for_the_long_requests_of_its_account(alice: Person, path: str) -> None:
    async with held_turn(alice.service, alice.account.id):
        assert code(await alice.get(PORTFOLIO + path)) == REFUSED


async def test_a_list_without_a_filter_waits_for_nothing(alice: Person) -> None:
    async with held_turn(alice.service, ("short", alice.account.id)):
        assert (await alice.get(f"{PORTFOLIO}/domains?limit=10&sort=domain")).status_code == 200
