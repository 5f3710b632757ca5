"""Forms on the vendor's pages of other sites: there browsers may read the answers, and nowhere else."""

from collections.abc import AsyncIterator

import pytest

from builders.app import create_app, lifespan
from builders.kit.process.settings import Settings
from builders.kit.values import ids
from tests.cast import Client
from tests.leads.make import CONFIRM, LEADS, WAITLIST

OURS, THEIRS = "https://harbour.example", "https://evil.example"
each_form = pytest.mark.parametrize("path", [LEADS, WAITLIST])


@pytest.fixture
async def open_to_landers(settings: Settings) -> AsyncIterator[Client]:
    """Somebody who asks a service that names an origin, a few times only."""
    app = create_app(settings.model_copy(update={"lander_origins": (OURS,), "limits": 0.1}))
    async with lifespan(app.api), Client(app) as client:
        yield client


@each_form
async def test_a_page_of_ours_may_ask_and_read(open_to_landers: Client, path: str) -> None:
    asked = await open_to_landers.options(path, headers={"Origin": OURS, "Access-Control-Request-Method": "POST"})
    form = {"email": f"{ids.new().hex}@example.net"}
    answers = [await open_to_landers.post(path, json=sent, headers={"Origin": OURS}) for sent in (form, {}, form)]

    assert asked.status_code == 204
    assert asked.headers["Access-Control-Allow-Methods"] == "POST"
    assert asked.headers["Access-Control-Allow-Headers"] == "Content-Type"
    assert [each.status_code for each in answers] == [201, 422, 429]
    for answer in (asked, *answers):
        assert answer.headers["Access-Control-Allow-Origin"] == OURS
        assert answer.headers["Vary"] == "Origin"


@each_form
@pytest.mark.parametrize("origin", [THEIRS, "null", f"{OURS}.evil.example", OURS.upper(), ""])
async def test_a_page_of_others_may_not(open_to_landers: Client, path: str, origin: str) -> None:
    asked = await open_to_landers.options(path, headers={"Origin": origin})
    answer = await open_to_landers.post(path, json={}, headers={"Origin": origin})

    for each in (asked, answer):
        assert "Access-Control-Allow-Origin" not in each.headers
        assert each.headers["Vary"] == "Origin"


async def test_no_other_path_is_open(open_to_landers: Client) -> None:
    for path in (CONFIRM, "/v1/me", "/v1/catalog/categories"):
        answer = await open_to_landers.get(path, headers={"Origin": OURS})
        assert "Access-Control-Allow-Origin" not in answer.headers
    asked = await open_to_landers.options("/v1/me", headers={"Origin": OURS})
    assert asked.status_code == 405


@each_form
async def test_where_no_page_is_named_none_may(anyone: Client, path: str) -> None:
    answer = await anyone.post(path, json={}, headers={"Origin": OURS})
    assert "Access-Control-Allow-Origin" not in answer.headers
    assert (await anyone.options(path, headers={"Origin": OURS})).status_code == 405


async def test_a_lander_may_read_what_was_ignored_and_when_to_ask_again(open_to_landers: Client) -> None:
    answer = await open_to_landers.post("/v1/leads?utm_source=x", json={"email": "x"}, headers={"Origin": OURS})
    elsewhere = await open_to_landers.post(
        "/v1/leads", json={"email": "x"}, headers={"Origin": "https://a.example"}
    )

    assert answer.headers["Ignored-Parameters"] == '"utm_source"'
    exposed = answer.headers["Access-Control-Expose-Headers"].split(", ")
    assert {"Ignored-Parameters", "Retry-After", "X-Request-Id"} <= {*exposed}
    assert "Access-Control-Expose-Headers" not in elsewhere.headers
