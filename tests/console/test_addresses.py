"""Pages for browsers at the addresses in emails and at the root."""

import re

import pytest

from tests.browser import ACCEPT
from tests.cast import Client

PAGES = [
    ("/docs", 200),
    ("/v1/auth/login", 200),
    ("/v1/auth/login?token=cut", 422),
    ("/v1/auth/login?token=never-was-a-token", 400),
    ("/v1/invoices/0197d1a0-0000-7000-8000-000000000000", 401),
    ("/v1/invoices/0197d1a0-0000-7000-8000-000000000000/pdf", 401),
    ("/v1/me", 401),
    ("/v1/account/email-verification/confirm", 422),
    ("/v1/account/email-verification/confirm?token=cut", 422),
    ("/v1/account/email-verification/confirm?token=never-was-a-token", 400),
    ("/v1/leads/confirm?token=cut", 422),
    ("/v1/leads/confirm?token=never-was-a-token", 400),
    ("/v1/aliases/destinations/confirm?token=cut", 422),
    ("/v1/aliases/destinations/confirm?token=never-was-a-token", 400),
    ("/v1/mail/unsubscribe/cut", 400),
    ("/v1/t/c/cut", 422),
    ("/v1/t/c/cut?u=https%3A%2F%2Fexample.net&m=x", 400),
    ("/v1/leads", 405),
    ("/v1/catalog/domains/nowhere.example", 404),
    ("/nowhere", 404),
    ("/no%00where", 422),
]


@pytest.mark.parametrize(("address", "status"), PAGES)
async def test_a_browser_gets_a_page(anyone: Client, address: str, status: int) -> None:
    answer = await anyone.get(address, headers={"Accept": ACCEPT})

    assert (answer.status_code, answer.headers["content-type"]) == (status, "text/html; charset=utf-8")
    assert re.search(r"<title>[^<]{3,}</title>", answer.text)
    assert '<html lang="en">' in answer.text
    assert "script" not in answer.headers["content-security-policy"]
    if address != "/docs":
        assert answer.headers["vary"] == "Accept"
        assert answer.headers["cache-control"] == "no-store"


@pytest.mark.parametrize(("address", "status"), [each for each in PAGES if each[1] >= 400])
@pytest.mark.parametrize("accept", ["*/*", "application/json", None])
async def test_a_program_gets_json(anyone: Client, address: str, status: int, accept: str | None) -> None:
    if accept is None:
        anyone.headers.pop("Accept")
    answer = await anyone.get(address, headers={} if accept is None else {"Accept": accept})

    assert answer.status_code == status
    assert answer.headers["content-type"] in {"application/json", "application/problem+json"}
    assert "detail" in answer.json()


@pytest.mark.parametrize("offered", [{"X-API-Key": "svc_live_x"}, {"Authorization": "Bearer x"}])
async def test_a_request_with_a_key_gets_json_for_any_accept_header(
    anyone: Client, offered: dict[str, str]
) -> None:
    """HttpURLConnection of Java accepts text/html by default."""
    java = "text/html, image/gif, image/jpeg, */*; q=0.2"
    answer = await anyone.get("/v1/me", headers={"Accept": java, **offered})

    assert (answer.status_code, answer.json()["code"]) == (401, "credentials_invalid")


async def test_the_home_page_has_links(anyone: Client) -> None:
    page = await anyone.get("/", headers={"Accept": ACCEPT})

    links = re.findall(r'href="([^"]+)"', page.text)
    assert {"/docs", "/v1/auth/login"} <= set(links)
    for link in links:
        wanted = 401 if link.startswith("/console") else 200
        assert (await anyone.get(link, headers={"Accept": ACCEPT})).status_code == wanted
    assert (await anyone.get("/")).status_code == 404


async def test_files_that_browsers_request(anyone: Client) -> None:
    icon = await anyone.get("/favicon.ico", headers={"Accept": "image/avif,image/webp,*/*;q=0.8"})
    robots = await anyone.get("/robots.txt")

    assert (icon.status_code, icon.headers["content-type"]) == (200, "image/x-icon")
    assert icon.content.startswith(b"\0\0\1\0")
    assert "max-age" in icon.headers["cache-control"]
    assert robots.headers["content-type"].startswith("text/plain")
    assert "Disallow: /v1/" in robots.text


@pytest.mark.parametrize("address", ["/docs/", "/redoc", "/redoc/"])
async def test_other_addresses_redirect_to_the_documentation(anyone: Client, address: str) -> None:
    answer = await anyone.get(address, headers={"Accept": ACCEPT})

    assert (answer.status_code, answer.headers["location"]) == (308, "/docs")


@pytest.mark.parametrize("address", ["/", "/favicon.ico", "/robots.txt", "/docs", "/nowhere"])
async def test_head_is_get_without_a_body(anyone: Client, address: str) -> None:
    answers = [await anyone.request(method, address, headers={"Accept": ACCEPT}) for method in ("GET", "HEAD")]

    assert answers[0].status_code == answers[1].status_code
    assert answers[0].headers["content-type"] == answers[1].headers["content-type"]
