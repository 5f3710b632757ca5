"""A browser with which a person signs in at another issuer."""

import html
import re

import httpx

from builders.kit.http.callers import COOKIE
from tests.browser import ACCEPT
from tests.cast import Client

LOGIN = "/v1/auth/login"
CALLBACK = f"{LOGIN}/callback"
WANTED = "/v1/aliases?q=a%20b"
SESSIONS = "/v1/auth/sessions"
PENDING = "svc_sign_in"
_CHOICE = re.compile(r'<a class="button" href="([^"]+)">([^<]+)</a>')


def choices(page: httpx.Response) -> list[tuple[str, str]]:
    """The buttons of the issuers: where each leads, and what it says."""
    return [(html.unescape(href), html.unescape(label)) for href, label in _CHOICE.findall(page.text)]


async def begin(browser: Client, *, return_to: str | None = WANTED) -> str:
    """Press the button of the issuer; return the address at the issuer."""
    params = {"return_to": return_to} if return_to else {}
    page = await browser.get(LOGIN, params=params, headers={"Accept": ACCEPT})
    ((href, _),) = choices(page)
    answer = await browser.get(href, headers={"Accept": ACCEPT, "Sec-Fetch-Site": "same-origin"})
    assert answer.status_code == 303, answer.text
    return str(answer.headers["location"])


async def at_issuer(location: str) -> str:
    """Sign in at the issuer, which asks nothing here; return the address that it sends the browser to."""
    async with httpx.AsyncClient() as outside:
        return str((await outside.get(location)).headers["location"])


async def come_back(browser: Client, address: str) -> httpx.Response:
    """Open the address of the service that the issuer sent the browser to."""
    headers = {"Accept": ACCEPT, "Sec-Fetch-Site": "cross-site"}
    return await browser.get(address.removeprefix("http://builders.test"), headers=headers)


async def sign_in(browser: Client, *, return_to: str | None = WANTED) -> httpx.Response:
    """Do all of it."""
    return await come_back(browser, await at_issuer(await begin(browser, return_to=return_to)))


def check_refused(answer: httpx.Response, says: str, *, status: int = 400) -> None:
    """The page says why and offers every way to sign in, and nobody is signed in."""
    assert (answer.status_code, answer.headers["content-type"]) == (status, "text/html; charset=utf-8")
    assert says in html.unescape(answer.text)
    assert COOKIE not in answer.headers.get("set-cookie", "")
    assert "Sign in with Harbour" in answer.text
    assert 'type="email"' in answer.text
