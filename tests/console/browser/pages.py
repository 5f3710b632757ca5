"""Each page in Chromium: the rules of accessibility, what a screen reader reads out, and narrow screens."""

import os
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-not-found] # only `check` installs it

from builders.console.actions import ACTIONS
from tests.console.browser.addresses import AFTER_FORMS, PAGES, Mailed, fill_in
from tests.console.browser.people import Demo

HERE = Path(__file__).parent
WRITES = bool(os.environ.get("BUILDERS_WRITE_SNAPSHOTS"))
PICTURES = os.environ.get("BUILDERS_SCREENSHOTS")
RULES = {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}
COLOURS = {"type": "rule", "values": ["color-contrast", "link-in-text-block"]}
WIDE = {"width": 1400, "height": 900}
# 320 px is also a screen of 1,280 px at 400 %, 256 px its height.
NARROW = {"width": 320, "height": 256}
# Of Stripe, of a registrar and of a program, which the demo has not.
OUTSIDE = {"pay.html", "portfolio/auth_code.html", "connected.html"}
ROWS = 2  # of each table that a snapshot contains
# The rows of these depend on jobs in the background, and on what other tests do at the same time.
VARIES = re.compile(r"audit|deliver|events|sessions|inbox|webhook|^keys$|^after")
# Sums and advice depend on the day: 12 months up to today.
FIGURES = ".chart text, tbody tr, .facts > div, main > ul.inbox li, main .notice, main > p:has(.state)"
# What differs from run to run, in the text of a page.
CHANGES = (
    (re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"), "ID"),
    (re.compile(r"sha256:[0-9a-f]{64}"), "DIGEST"),
    (re.compile(r"builders-verification=\w+"), "PROOF"),
    (re.compile(r"svc_(live|test)_[\w…-]+"), r"svc_\1_KEY"),
    (re.compile(r"\*\*\*#[0-9a-f]{8}@"), "***#TAG@"),
    (re.compile(r"whsec_[\w+/=…-]+"), "SECRET"),
    (re.compile(r"(in )?(a moment|just now|\d+ (second|minute|hour|day|month|year)s?( ago)?)"), "WHEN"),
    (re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d)?( UTC|Z)?)?"), "DATE"),
    (re.compile(r"\b20\d\d-\d\d\b"), "MONTH"),
    (re.compile(r"\d{1,2} [A-Z][a-z]+ \d{4}"), "DATE"),
    (re.compile(r"INV-\d{4}-\d+"), "INVOICE"),
    (re.compile(r"127\.0\.0\.1(:\d+)?"), "HOST"),
    (re.compile(r"HeadlessChrome/[\d.]+|Mozilla/5\.0 [^\n\"]*"), "BROWSER"),
    (re.compile(r"token=[\w.-]+"), "token=TOKEN"),
    (re.compile(r"(\bcursor=|unsubscribe/)[\w.%-]+"), r"\1TEXT"),
    (re.compile(r" at \d{5,9}"), " at TIME"),
    (re.compile(r'"\d{2,3}"'), '"NUMBER"'),
)


@pytest.fixture(scope="session", params=PAGES)
def name(request: pytest.FixtureRequest) -> str:
    """Return the name of each page; pytest makes all tests of one before the next."""
    return str(request.param)


@pytest.fixture(scope="session")
def shown(
    chromium: Any, site: Demo, known: Mapping[str, Any], watched: Callable[[Any], Any], name: str
) -> Iterator[Any]:
    """Return the page, opened by the person who sees it."""
    wanted = PAGES[name]
    context = chromium.new_context(
        base_url=site.origin, viewport=WIDE, storage_state=known["cookies"][wanted.who], color_scheme="light"
    )
    page = watched(context.new_page())
    if isinstance(wanted, Mailed):
        answers = [page.goto(site.find_link(wanted.to, wanted.path))]
    else:
        answers = [page.goto(fill_in(wanted.path, known["values"]))]
        page.on("response", lambda each: answers.append(each) if each.request.is_navigation_request() else None)
        if wanted.then is not None:
            wanted.then(page)
    assert answers[-1].status == wanted.status, (page.url, page.get_by_role("main").inner_text())
    yield page
    context.close()


# In dark mode only the colours differ.
@pytest.mark.parametrize(("scheme", "rules"), [("light", RULES), ("dark", COLOURS)], ids=["light", "dark"])
def test_a_page_breaks_no_rule_of_accessibility(
    shown: Any, name: str, scheme: str, rules: Mapping[str, Any]
) -> None:
    shown.emulate_media(color_scheme=scheme)
    shown.set_viewport_size(WIDE)
    found = Axe().run(shown, options={"runOnly": rules, "resultTypes": ["violations"]}).response["violations"]
    for width in (1400, 390) if PICTURES else ():
        shown.set_viewport_size({"width": width, "height": 900})
        shown.screenshot(path=f"{PICTURES}/{_file(name)}-{scheme}-{width}.png", full_page=True)

    assert [(each["id"], each["nodes"][0]["html"]) for each in found] == []


@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
def test_a_page_fits_the_screen(shown: Any, size: dict[str, int]) -> None:
    shown.set_viewport_size(size)

    assert shown.evaluate("document.documentElement.scrollWidth") <= size["width"]


def test_a_page_has_no_error_and_calls_no_other_host(shown: Any, complaints: list[str]) -> None:
    shown.wait_for_load_state()
    found, complaints[:] = list(complaints), []

    assert found == []


def test_a_page_is_read_out_as_committed(shown: Any, name: str) -> None:
    """Last of a page, because it leaves out rows."""
    shown.set_viewport_size(WIDE)
    left_out = f"tbody tr:nth-child(n + {ROWS + 1}), #reception-set-key_id option:nth-child(n + 2)"
    if VARIES.search(name):
        left_out = "tbody tr, pre, .facts dd, p:has(> a[rel=next])"
    elif "portfolio" in name:
        left_out = FIGURES
    shown.evaluate(f"document.querySelectorAll('{left_out}').forEach((each) => each.remove())")
    read = shown.locator("body").aria_snapshot()
    for pattern, word in CHANGES:
        read = pattern.sub(word, read)
    file = HERE / "snapshots" / f"{_file(name)}.yaml"
    if WRITES:
        file.write_text(read + "\n")

    assert read + "\n" == file.read_text()


def test_the_page_of_each_form_is_opened() -> None:
    assert {ACTIONS[each].template for each in AFTER_FORMS} == {
        each.template for each in ACTIONS.values() if each.template not in {None, *OUTSIDE}
    }


def test_each_page_of_the_document_is_opened(site: Demo) -> None:
    """Operations outside the console that answer with a page."""
    document = httpx.get(f"{site.origin}/openapi.json", timeout=60).json()
    declared = {
        re.sub(r"/page$|/\{\w+\}$", "", path)
        for path, operations in document["paths"].items()
        for operation in operations.values()
        if "text/html" in operation["responses"].get("200", {}).get("content", {})
    }
    opened = {re.sub(r"\?.*|/\{\w+\}$", "", each.path) for each in PAGES.values()}

    assert declared - opened == set()


def test_each_snapshot_is_of_a_page() -> None:
    assert {file.stem for file in (HERE / "snapshots").glob("*.yaml")} == set(map(_file, PAGES))


def _file(name: str) -> str:
    return re.sub(r"[{}]", "", name).replace(" ", "-").replace("_id", "")
