"""The console in Chromium. `check` beside this file runs it, with Playwright."""

import email
import email.policy
import os
import re
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-not-found] # only `check` installs it
from playwright.sync_api import sync_playwright  # type: ignore[import-not-found] # only `check` installs it

from tests.sandbox.make import alias, full_manifest, webhook

HERE = Path(__file__).parent
WRITES = bool(os.environ.get("BUILDERS_WRITE_SNAPSHOTS"))
PICTURES = os.environ.get("BUILDERS_SCREENSHOTS")
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
WITHIN_S = 20
LISTS = ("names", "plans", "domains", "webhooks", "deliveries", "projects", "invoices")
API = {
    "names": "/v1/aliases",
    "plans": "/v1/sandbox/plans",
    "domains": "/v1/domains",
    "webhooks": "/v1/notifications/webhooks",
    "deliveries": "/v1/notifications/deliveries",
    "projects": "/v1/builders/projects",
    "invoices": "/v1/invoices",
}
PAGES = {
    "start": "/?q=ada",
    "sign-in": "/v1/auth/login",
    "inbox": "/console",
    "sandbox": "/console/test",
    "missing": "/console/names/00000000-0000-7000-8000-000000000000",
    "search": "/console/search?q=ada",
    "claim": "/console/claim?local_part=zoe&domain=harbour.example",
    **{name: f"/console/{name}" for name in LISTS},
    **{
        name: f"/console/{name}"
        for name in ("account", "approval", "audit", "billing", "events", "keys", "sessions", "team")
    },
    **{f"one of {name}": f"/console/{name}/{{{name}}}" for name in LISTS},
}
# Pages whose rows depend on what ran before, and on jobs in the background: their rows are left out.
VARIES = frozenset(
    (
        *("audit", "deliveries", "domains", "events", "inbox", "keys", "one of deliveries", "one of domains"),
        *("one of webhooks", "plans", "sessions"),
    )
)
# What differs from run to run, in the text of a page.
CHANGES = (
    (re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"), "ID"),
    (re.compile(r"sha256:[0-9a-f]{64}"), "DIGEST"),
    (re.compile(r"builders-verification=\w+"), "PROOF"),
    (re.compile(r"svc_(live|test)_\w+…\w{4}"), r"svc_\1_KEY"),
    (re.compile(r"(in )?(a moment|just now|\d+ (second|minute|hour|day|month|year)s?( ago)?)"), "WHEN"),
    (re.compile(r"\d{4}-\d\d-\d\d( \d\d:\d\d(:\d\d)? UTC)?"), "DATE"),
    (re.compile(r"INV-\d{4}-\d+"), "INVOICE"),
    (re.compile(r"127\.0\.0\.1(:\d+)?"), "HOST"),
    (re.compile(r"HeadlessChrome/[\d.]+|Mozilla/5\.0 [^\n\"]*"), "BROWSER"),
)


@pytest.fixture(scope="session")
def key(demo: Mapping[str, str]) -> Iterator[httpx.Client]:
    """Return a client with the live key of the demo's developer, whose account has something on every page."""
    with httpx.Client(base_url=demo["http://127.0.0.1:8000"], headers={"X-API-Key": demo["svc_live_…"]}) as client:
        _fill(client)
        yield client


def _fill(client: httpx.Client) -> None:
    found = client.get("/v1/catalog/suggest", params={"q": "ada", "limit": 2}).raise_for_status().json()["items"]
    names = [alias(each["address"], key=f"n{at}") for at, each in enumerate(found)]
    wanted = full_manifest(projects=[{"key": "acme", "name": "Acme"}], webhooks=[webhook("main")], aliases=names)
    plan = client.post("/v1/sandbox/plan", json=wanted).raise_for_status().json()
    client.post("/v1/sandbox/promote", json={"plan_id": plan["id"], "digest": plan["digest"]}).raise_for_status()
    wanted["resources"]["aliases"][0]["destinations"] = ["new@example.net"]
    client.post("/v1/sandbox/plan", json=wanted).raise_for_status()
    client.post("/v1/domains", json={"domain": "own-name.example"}).raise_for_status()


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
def signed_in(chromium: Any, demo: Mapping[str, str], key: httpx.Client) -> Any:
    """Return the cookies of a browser in which the emailed link was opened and its button pressed."""
    context = chromium.new_context(base_url=demo["http://127.0.0.1:8000"])
    page = context.new_page()
    page.goto("/v1/auth/login")
    page.get_by_label("Email address").fill(key.get("/v1/me").json()["email"])
    page.get_by_role("button").click()
    page.goto(_emailed_link(Path(demo[".data"]) / "outbox"))
    page.get_by_role("button", name="Sign in").click()
    assert page.url.endswith("/console")
    cookies = context.storage_state()
    context.close()
    return cookies


def _emailed_link(outbox: Path) -> str:
    deadline = time.monotonic() + WITHIN_S
    while time.monotonic() < deadline:
        for file in outbox.glob("*.eml"):
            message = email.message_from_bytes(file.read_bytes(), policy=email.policy.default)
            body = message.get_body(("plain",))
            link = re.search(r"http\S+/v1/auth/login\?\S+", "" if body is None else body.get_content())
            if link is not None:
                return link[0]
        time.sleep(0.1)
    raise AssertionError("no link was emailed")


@pytest.fixture
def browse(chromium: Any, signed_in: Any, demo: Mapping[str, str]) -> Iterator[Any]:
    """Return a function that opens a page of the browser; what the browser complains about fails the test."""
    contexts, complaints = [], list[str]()
    origin = demo["http://127.0.0.1:8000"]

    def open_page(path: str, **options: Any) -> Any:
        contexts.append(chromium.new_context(base_url=origin, storage_state=signed_in, **options))
        page = contexts[-1].new_page()
        page.on("console", lambda said: complaints.extend([said.text] if said.type == "error" else ()))
        page.on("request", lambda sent: complaints.extend(() if sent.url.startswith(origin) else [sent.url]))
        page.goto(path)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert [each for each in complaints if "404 (Not Found)" not in each] == []


@pytest.fixture(params=PAGES)
def path(request: pytest.FixtureRequest, key: httpx.Client) -> str:
    """Return the address of each page."""
    template = PAGES[request.param]
    (list_name,) = re.findall(r"\{(\w+)\}", template) or ("",)
    if not list_name:
        return template
    newest = key.get(API[list_name]).raise_for_status().json()["items"][0]
    return template.replace(f"{{{list_name}}}", newest["id"])


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_page_breaks_no_rule_of_accessibility(
    browse: Any, path: str, scheme: str, request: pytest.FixtureRequest
) -> None:
    page = browse(path, color_scheme=scheme, viewport={"width": 1400, "height": 900})
    found = Axe().run(page, options={"runOnly": {"type": "tag", "values": RULES}}).response["violations"]
    if PICTURES:
        name = request.node.callspec.params["path"].replace(" ", "-")
        page.screenshot(path=f"{PICTURES}/{name}-{scheme}.png", full_page=True)

    assert [(each["id"], each["nodes"][0]["html"]) for each in found] == []


@pytest.mark.parametrize("width", [320, 390])
def test_a_page_fits_a_narrow_screen(browse: Any, path: str, width: int) -> None:
    """320 px is also a screen of 1,280 px at 400 %."""
    page = browse(path, viewport={"width": width, "height": 800})

    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_page_is_read_out_as_committed(browse: Any, path: str, request: pytest.FixtureRequest) -> None:
    name = request.node.callspec.params["path"]
    page = browse(path)
    if name in VARIES:
        page.evaluate("document.querySelectorAll('tbody, pre, dd, .state').forEach((each) => each.remove())")
    read = page.locator("body").aria_snapshot()
    for pattern, word in CHANGES:
        read = pattern.sub(word, read)
    file = HERE / "snapshots" / f"{name.replace(' ', '-')}.yaml"
    if WRITES:
        file.write_text(read + "\n")

    assert read + "\n" == file.read_text()


def test_a_name_is_planned_by_keyboard_alone(browse: Any) -> None:
    page = browse("/")
    page.keyboard.type("zoe")
    page.keyboard.press("Enter")
    page.wait_for_url("**/?q=zoe")
    _tab_to(page, "Claim")
    page.keyboard.press("Enter")
    page.wait_for_url("**/console/claim?**")
    _tab_to(page, "Make the plan")
    page.keyboard.press("Enter")
    page.wait_for_url("**/console/plans/**")

    assert page.get_by_role("heading", level=1).inner_text().startswith("Plan of console")


def test_a_plan_of_a_key_is_approved_and_promoted_by_a_person(browse: Any, key: httpx.Client) -> None:
    (found,) = key.get("/v1/catalog/suggest", params={"q": "grace", "limit": 1}).json()["items"]
    plan = key.post("/v1/sandbox/plan", json=full_manifest(aliases=[alias(found["address"])])).json()
    page = browse("/console/approval")
    page.get_by_label("Plans that require an approval").select_option("always")
    page.get_by_role("button", name="Save").click()
    page.goto(plan["approval"]["review_url"])
    page.get_by_role("button", name="Approve this plan").click()
    page.on("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Promote this plan").click()
    page.wait_for_url("**/console/promotions/**")

    assert page.get_by_role("heading", level=1).inner_text().startswith("Promotion")
    page.goto("/console/approval")
    page.get_by_label("Plans that require an approval").select_option("never")
    page.get_by_role("button", name="Save").click()


def test_a_failing_webhook_is_repaired_and_its_events_are_sent_again(browse: Any, key: httpx.Client) -> None:
    hook = key.get("/v1/notifications/webhooks").json()["items"][0]["id"]
    page = browse(f"/console/webhooks/{hook}")
    page.get_by_label("Label", exact=True).fill("repaired")
    page.get_by_role("button", name="Save").click()
    page.get_by_label("Since, in UTC").fill("2026-01-01T00:00")
    page.get_by_role("button", name="Send again").click()

    assert page.get_by_role("status").inner_text() == "The events are sent again."
    assert page.get_by_role("heading", level=1).inner_text().startswith("repaired")


def _tab_to(page: Any, label: str, *, presses: int = 40) -> None:
    """Press Tab until the element with this text has the focus, which must be visible."""
    for _ in range(presses):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.innerText || ''").startswith(label):
            assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"
            return
    raise AssertionError(f"{label} is not reached with {presses} tabs")


def test_a_text_is_copied(browse: Any, key: httpx.Client) -> None:
    name = key.get("/v1/aliases").json()["items"][0]["id"]
    page = browse(f"/console/names/{name}", permissions=["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy").first.click()

    assert page.evaluate("navigator.clipboard.readText()") == name


def test_a_page_loads_at_most_60_kilobytes(browse: Any) -> None:
    page = browse("/console")
    sizes = page.evaluate(
        "[...performance.getEntriesByType('resource'), ...performance.getEntriesByType('navigation')]"
        ".reduce((sum, each) => sum + each.encodedBodySize, 0)"
    )
    assert sizes <= 60 * 1024


def test_a_page_does_not_shift(browse: Any) -> None:
    page = browse("/console")
    shifts = page.evaluate(
        """new Promise((done) => {
            let sum = 0;
            const add = (list) => list.getEntries().forEach((each) => { sum += each.value; });
            new PerformanceObserver(add).observe({ type: "layout-shift", buffered: true });
            setTimeout(() => done(sum), 300);
        })"""
    )
    assert shifts == 0
