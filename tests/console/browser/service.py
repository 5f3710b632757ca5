"""The demo, its people's browsers and a receiver of webhooks. `check` loads this as a plugin of pytest."""

import json
import re
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import httpx
import pytest
from playwright.sync_api import sync_playwright  # type: ignore[import-not-found] # only `check` installs it

from tests.console.browser.account import Receiver, fill, plan, suggest
from tests.console.browser.addresses import ISSUER, NOBODY, SUPPORT, parameters
from tests.console.browser.people import ACCOUNTANT, DECIDER, OWNER, STRANGER, WITHIN_S, Demo
from tests.demo_server import registrars, served  # noqa: F401 - a fixture
from tests.plans.make import Json, alias, full_manifest

_ISSUERS = [{"issuer": ISSUER, "client_id": "console", "client_secret": "secret", "name": "Example Staff"}]
# Complaints of a browser about an answer that is a refusal, which is a page too.
_REFUSED = re.compile(r"Failed to load resource: the server responded with a status of 4\d\d|503")
Open = Callable[..., Any]


@pytest.fixture(scope="session")
def receiver() -> Iterator[Receiver]:
    """Run a receiver of webhooks."""
    made = Receiver()
    yield made
    made.close()


@pytest.fixture(scope="session")
def site(receiver: Receiver, registrars: str) -> Iterator[Demo]:  # noqa: F811 - the fixture
    """Run a demo that may call the receiver and simulated registrars, and offers to sign in at an issuer."""
    own = {
        "BUILDERS_OUTBOUND_ALLOW": f"{receiver.address},{registrars}",
        "BUILDERS_OIDC_ISSUERS": json.dumps(_ISSUERS),
        "BUILDERS_LIMITS": "off",  # all people sign in from one address
    }
    with served(own) as filled_in:
        yield Demo.of(filled_in)


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """Return Debian's Chromium."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path="/usr/bin/chromium", args=["--no-sandbox", "--disable-dev-shm-usage"]
        )
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def known(
    site: Demo,
    chromium: Any,
    receiver: Receiver,
    registrars: str,  # noqa: F811 - the fixture
) -> Iterator[Mapping[str, Any]]:
    """Fill the account of the owner; return the cookies of each person, and the parameters of addresses."""
    with site.make_client(OWNER) as client:
        found = fill(site, client, receiver.address)
        cookies, request_id = prepare(site, chromium, client, found)
        asked = client.post("/v1/auth/device/authorize", json={"host": "laptop", "scope": "developer_full"}).json()
        own = {"request_id": request_id, "user_code": asked["user_code"], "registrars": registrars}
        await_use(client)
        yield {"cookies": cookies, "values": parameters(client, {**found, **own})}


def await_use(client: httpx.Client) -> None:
    """Wait until the key of the client is shown as used, which is written in the background."""
    deadline = time.monotonic() + WITHIN_S
    while not any(each["last_used_at"] for each in client.get("/v1/api-keys").json()["items"]):
        assert time.monotonic() < deadline, "no key is shown as used"
        time.sleep(0.1)


def prepare(site: Demo, chromium: Any, client: httpx.Client, found: Mapping[str, str]) -> tuple[Json, str]:
    """Let a plan and a machine wait; return the cookies of each person, and the id of the machine's request."""
    cookies: Json = {NOBODY: None}
    requests = []

    def browse(who: str, act: Callable[[Any], None] | None = None) -> None:
        context = chromium.new_context(base_url=site.origin, extra_http_headers={"Origin": site.origin})
        if who == SUPPORT:
            printed = site.run(
                *("login-as", "grant", "--account", OWNER, "--operator", "Robin of the support"),
                *("--reason", "The webhook fails since this morning", "--json"),
            )
            context.request.post("/v1/auth/login-as", data={"grant": json.loads(printed)["grant"]})
        else:
            site.sign_in(context.new_page(), who)
        if act is not None:
            act(context.request)
        cookies[who] = context.storage_state()
        context.close()

    def protect(owner: Any) -> None:
        decider = found["decider_id"]
        for answer in (
            owner.patch(f"/v1/portfolio/team/members/{decider}", data={"approve_plans": True}),
            owner.put("/v1/sandbox/approval-policy", data={"require": "always", "deciders": [decider]}),
            owner.post(f"/v1/account/deciders/{decider}/confirm"),
        ):
            assert answer.ok, answer.text()
        asked = client.post("/v1/auth/device/authorize", json={"host": "laptop", "scope": "developer_full"})
        opened = owner.post("/v1/auth/device/code", data={"user_code": asked.json()["user_code"]})
        requests.append(opened.json()["id"])

    browse(OWNER, protect)
    browse(STRANGER, lambda stranger: stranger.post("/v1/account/erasure"))
    for who in (DECIDER, ACCOUNTANT, SUPPORT):
        browse(who)
    names = [alias(each, key=f"n{at}") for at, each in enumerate(suggest(client, "grace", 3))]
    planned = plan(client, full_manifest("shop", aliases=names))
    client.post(f"/v1/sandbox/plans/{planned['id']}/approval/request").raise_for_status()
    return cookies, requests[0]


@pytest.fixture(scope="session")
def complaints() -> list[str]:
    """Return what the browser complains about, and its requests to other hosts."""
    return []


@pytest.fixture(scope="session")
def watched(site: Demo, complaints: list[str]) -> Callable[[Any], Any]:
    """Return a function that records the complaints about a page."""

    def watch(page: Any) -> Any:
        page.on("console", lambda said: _record(complaints, said))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda sent: complaints.extend(() if sent.url.startswith(site.origin) else [sent.url]))
        return page

    return watch


def _record(complaints: list[str], said: Any) -> None:
    if said.type in {"error", "warning"} and not _REFUSED.search(said.text):
        complaints.append(said.text)
