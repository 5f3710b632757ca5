"""CORS of the forms: allowed origins alone may read the replies."""

from collections.abc import AsyncIterator

import psycopg
import pytest

from builders.app import create_app, lifespan
from builders.kit.process.settings import Settings
from builders.kit.values import ids
from tests.cast import Client
from tests.leads.make import CONFIRM, LEADS, WAITLIST

OURS, THEIRS = "https://harbour.example", "https://evil.example"
each_form = pytest.mark.parametrize("path", [LEADS, WAITLIST])


@pytest.fixture
async def cors_client(settings: Settings, sweeper: psycopg.Connection) -> AsyncIterator[Client]:
    """Return a client of a service with an allowed origin and a low rate limit."""
    sweeper.execute("DELETE FROM kit_quotas")
    app = create_app(settings.model_copy(update={"lander_origins": (OURS,), "limits": 0.1}))
    async with lifespan(app.api), Client(app) as client:
        yield client


@each_form
async def test_an_allowed_origin_may_read(cors_client: Client, path: str) -> None:
    asked = await cors_client.options(path, headers={"Origin": OURS, "Access-Control-Request-Method": "POST"})
    form = {"email": f"{ids.new().hex}@example.net"}
    answers = [await cors_client.post(path, json=sent, headers={"Origin": OURS}) for sent in (form, {}, form)]

    assert asked.status_code == 204
    assert asked.headers["Access-Control-Allow-Methods"] == "POST"
    assert asked.headers["Access-Control-Allow-Headers"] == "Content-Type"
    assert [each.status_code for each in answers] == [201, 422, 429]
    for answer in (asked, *answers):
        assert answer.headers["Access-Control-Allow-Origin"] == OURS
        assert answer.headers["Vary"] == "Origin"


@each_form
@pytest.mark.parametrize("origin", [THEIRS, "null", f"{OURS}.evil.example", OURS.upper(), ""])
async def test_another_origin_may_not_read(cors_client: Client, path: str, origin: str) -> None:
    asked = await cors_client.options(path, headers={"Origin": origin})
    answer = await cors_client.post(path, json={}, headers={"Origin": origin})

    for each in (asked, answer):
        assert "Access-Control-Allow-Origin" not in each.headers
        assert each.headers["Vary"] == "Origin"


async def test_no_other_path_allows_the_origin(cors_client: Client) -> None:
    for path in (CONFIRM, "/v1/me", "/v1/account/audit"):
        answer = await cors_client.get(path, headers={"Origin": OURS})
        assert "Access-Control-Allow-Origin" not in answer.headers
    asked = await cors_client.options("/v1/me", headers={"Origin": OURS})
    assert asked.status_code == 405


@each_form
async def test_without_allowed_origins_no_origin_may_read(anyone: Client, path: str) -> None:
    answer = await anyone.post(path, json={}, headers={"Origin": OURS})
    assert "Access-Control-Allow-Origin" not in answer.headers
    assert (await anyone.options(path, headers={"Origin": OURS})).status_code == 405


async def test_an_allowed_origin_may_read_limits_and_retry_after(cors_client: Client) -> None:
    answer = await cors_client.post("/v1/leads", json={"email": "x"}, headers={"Origin": OURS})
    elsewhere = await cors_client.post("/v1/leads", json={"email": "x"}, headers={"Origin": "https://a.example"})

    exposed = answer.headers["Access-Control-Expose-Headers"].split(", ")
    assert {"RateLimit", "Retry-After", "X-Request-Id"} <= {*exposed}
    assert "Access-Control-Expose-Headers" not in elsewhere.headers
