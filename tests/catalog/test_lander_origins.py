"""CORS for the configured origins of landers."""

from collections.abc import AsyncIterator

import pytest

from builders.app import Service, create_app, lifespan
from builders.kit.process.settings import Settings
from tests.cast import Client
from tests.catalog.make import catch_up

PATH = "/v1/catalog/events"
LANDER = "https://harbour.example"


@pytest.fixture
async def configured(settings: Settings) -> AsyncIterator[Service]:
    app = create_app(settings.model_copy(update={"lander_origins": (LANDER,)}))
    async with lifespan(app.api):
        await catch_up(app.api.state.catalog)
        yield app


async def ask(client: Client, origin: str) -> dict[str, str]:
    headers = {
        "Origin": origin,
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "content-type",
    }
    answer = await client.request("OPTIONS", PATH, headers=headers)
    assert answer.status_code in {204, 405}  # 405 without configured origins
    return {name: value for name, value in answer.headers.items() if name.startswith("access-control")}


async def test_a_configured_origin_can_send_json_and_read_the_response(configured: Service) -> None:
    async with Client(configured) as page:
        assert await ask(page, LANDER) == {
            "access-control-allow-origin": LANDER,
            "access-control-allow-credentials": "true",
            "access-control-allow-methods": "POST",
            "access-control-allow-headers": "Content-Type",
            "access-control-max-age": "86400",
        }
        answer = await page.post(PATH, json={"kind": "view"}, headers={"Origin": LANDER})
        assert answer.headers["access-control-allow-origin"] == LANDER
        assert answer.headers["vary"] == "Origin"
        refused = await page.post(PATH, json={"kind": "nonsense"}, headers={"Origin": LANDER})
        assert (refused.status_code, refused.headers["access-control-allow-origin"]) == (422, LANDER)


async def test_a_configured_origin_can_read_suggestions_and_checks(configured: Service) -> None:
    questions = {"/v1/catalog/suggest": {"q": "ada"}, "/v1/catalog/check": {"local_part": "ada", "domain": "x"}}
    async with Client(configured) as page:
        for path, params in questions.items():
            answer = await page.get(path, params=params, headers={"Origin": LANDER})
            assert (answer.status_code, answer.headers["access-control-allow-origin"]) == (200, LANDER)
            assert "Origin" in answer.headers["vary"]
            stranger = await page.get(path, params=params, headers={"Origin": "https://evil.example"})
            assert stranger.headers["access-control-allow-origin"] == "*"
            assert "access-control-allow-credentials" not in stranger.headers
            asked = await page.request("OPTIONS", path, headers={"Origin": LANDER})
            assert asked.headers["access-control-allow-methods"] == "GET, HEAD"


@pytest.mark.parametrize("path", ["domains", "domains/nothing.example", "categories", "suggest?q=ada", "assets/x"])
async def test_any_page_can_read_the_public_catalog(configured: Service, anyone: Client, path: str) -> None:
    origin = {"Origin": "https://shop.example"}
    async with Client(configured) as page:
        for client in (anyone, page):  # with and without configured origins
            asked = await client.request(
                "OPTIONS", f"/v1/catalog/{path}", headers={**origin, "Access-Control-Request-Method": "GET"}
            )
            answer = await client.get(f"/v1/catalog/{path}", headers=origin)
            for each in (asked, answer):
                assert each.headers["access-control-allow-origin"] == "*"
                assert "access-control-allow-credentials" not in each.headers
            assert (asked.status_code, asked.headers["access-control-allow-methods"]) == (204, "GET, HEAD")


@pytest.mark.parametrize("path", ["/v1/me", "/v1/api-keys", "/openapi.json", "/v1/catalog"])
async def test_other_paths_have_no_cors_header(alice: Client, path: str) -> None:
    answer = await alice.get(path, headers={"Origin": "https://shop.example"})
    assert "access-control-allow-origin" not in answer.headers


async def test_other_origins_cannot_read_the_response(configured: Service, anyone: Client) -> None:
    async with Client(configured) as page:
        for origin in ("https://evil.example", "null", f"{LANDER}.evil.example", "http://harbour.example"):
            assert await ask(page, origin) == {}
            answer = await page.post(PATH, json={"kind": "view"}, headers={"Origin": origin})
            assert "access-control-allow-origin" not in answer.headers
        assert await ask(anyone, LANDER) == {}  # without configured origins


def test_origins_are_configured_as_browsers_send_them() -> None:
    assert Settings(lander_origins="https://a.example, http://localhost:3000").lander_origins == (
        "https://a.example",
        "http://localhost:3000",
    )
    for wrong in ("https://a.example/", "a.example", "*", "https://A.example"):
        with pytest.raises(ValueError, match="origins"):
            Settings(lander_origins=wrong)
