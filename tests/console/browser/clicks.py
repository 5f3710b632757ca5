"""Each link, each filter and each form of the console is clicked in Chromium, and its effect is checked.

`check` runs this on a demo of its own, in the order of the file: the forms change what the links lead to.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect  # type: ignore[import-not-found] # only `check` installs it

from builders.console.actions import ACTIONS
from tests.console.browser.addresses import PAGES, Mailed, fill_in
from tests.console.browser.people import WITHIN_S, Demo
from tests.console.browser.steps import FIRST, STEPS, Step

ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
WITHIN_MS = WITHIN_S * 1000
# What has an address, and what sends a query.
CONTROLS = """() => [
    ...[...document.querySelectorAll('a[href]')].map((each) => ["a", each.getAttribute('href')]),
    ...[...document.querySelectorAll('form[method=get]')].map((each) => ["form", each.getAttribute('action')]),
]"""
SHOWN = {name: each for name, each in PAGES.items() if not isinstance(each, Mailed)}
# Of links that lead to a refusal: each page of addresses.py with the status that it declares.
REFUSED = {
    (re.sub(r"\{.*?\}", "ID", each.path.partition("?")[0]), each.status)
    for each in SHOWN.values()
    if each.status != 200
} | {("/console/claim", 401)}  # of a visitor, who signs in there


@pytest.fixture(scope="session")
def followed() -> set[tuple[str, str]]:
    """Return the links and filters that were clicked, without ids and values: they are the same on many pages."""
    return set()


@pytest.mark.parametrize("name", SHOWN)
def test_each_link_and_filter_of_a_page_leads_where_it_says(
    chromium: Any,
    site: Demo,
    known: Mapping[str, Any],
    followed: set[tuple[str, str]],
    name: str,
) -> None:
    wanted = SHOWN[name]
    context = chromium.new_context(base_url=site.origin, storage_state=known["cookies"][wanted.who])
    page = context.new_page()

    def open_page() -> None:
        page.goto(fill_in(wanted.path, known["values"]))
        if wanted.then is not None:
            wanted.then(page)
        page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")

    open_page()
    wrong = []
    for kind, target in page.evaluate(CONTROLS):
        without_values = (kind, re.sub(r"=[^&]*", "", ID.sub("ID", target)))
        if without_values in followed or urlsplit(target).netloc:
            continue
        followed.add(without_values)
        open_page()
        found = _follow(page, kind, target)
        if found is not None:
            wrong.append((target, found))
    context.close()

    assert wrong == [], "\n".join(map(str, wrong))


def _follow(page: Any, kind: str, target: str) -> str | None:
    """Click a link, or send a filter; return what is wrong with what follows."""
    selector = f'a[href="{target}"]' if kind == "a" else f'form[method=get][action="{target}"] button'
    control = page.locator(selector).first
    if target.startswith("#"):
        control.focus()
        control.press("Enter")
        return None if page.evaluate(f"document.querySelector('{target}:target') !== null") else "no target"
    path, files = urlsplit(target).path, list[Any]()

    def keep(file: Any) -> None:  # Playwright takes no built-in method, such as files.append
        files.append(file)

    page.on("download", keep)
    with page.expect_response(lambda each: urlsplit(each.url).path == path, timeout=WITHIN_MS) as answered:
        control.click()
    answer = answered.value
    if answer.status != 200 and (ID.sub("ID", path), answer.status) not in REFUSED:
        return f"status {answer.status}"
    if "html" in answer.headers["content-type"]:
        page.wait_for_load_state()
        return None if page.locator("h1").count() else "a page without a heading"
    if not (answer.header_value("Content-Disposition") or "").startswith("attachment"):
        return (
            None
            if "json" in answer.headers["content-type"] or path.endswith("/pdf")
            else f"shows {answer.headers}"
        )
    if not files:
        files.append(page.wait_for_event("download", timeout=WITHIN_MS))
    return None if Path(files[0].path()).read_bytes() else "an empty file"


def test_each_form_has_a_step() -> None:
    # invoice-pay leads to Stripe, others need a program, an unused key of 90 days or a key that a restore has
    # disabled: the demo has none of them. An agent's machine is approved on the same page, with the fields of a
    # mandate: tests/console/test_device.py.
    outside = {"invoice-pay", "device-agent", "connect-allow", "connect-deny", "connection-revoke", "key-narrow"}
    assert {*ACTIONS} - {each.action for each in STEPS} == outside | {"key-enable"}


@pytest.fixture(scope="session")
def opened(chromium: Any, site: Demo, known: Mapping[str, Any]) -> Iterator[Callable[[str], Any]]:
    """Return a function that returns the browser of a person."""
    pages: dict[str, Any] = {}

    def open_browser(who: str) -> Any:
        if who not in pages:
            context = chromium.new_context(base_url=site.origin, storage_state=known["cookies"][who])
            pages[who] = context.new_page()
            pages[who].on("dialog", lambda dialog: dialog.accept())
        return pages[who]

    yield open_browser
    for page in pages.values():
        page.context.close()


@pytest.mark.parametrize("step", STEPS, ids=[each.action for each in STEPS])
def test_a_form_does_what_its_button_says(
    opened: Callable[[str], Any], known: Mapping[str, Any], step: Step
) -> None:
    values, action = known["values"], step.action
    page = opened(step.who)
    if step.path is not None:
        page.goto(fill_in(step.path, values))
    if step.link is not None:
        with page.expect_navigation():
            page.get_by_role("link", name=step.link, exact=True).first.click()
    page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    sends = f"form[action$='/do/{action}'], form:has([formaction$='/do/{action}'])"
    forms = page.locator(sends) if step.row is None else page.locator("tr, li", has_text=step.row).locator(sends)
    if step.button is not None:
        forms = forms.filter(has=page.get_by_role("button", name=step.button, exact=True))
    for name, value in step.typed.items():
        _type(forms.first.locator(f"[name='{name}']:not([type=hidden])").first, fill_in(value, values))
    own = forms.first.locator(f"[formaction$='/do/{action}']")
    with page.expect_response(lambda each: each.request.method == "POST"):
        (own if own.count() else forms.first.locator("button:not([type=button], [formaction])").last).click()

    expect(page.locator("main")).to_contain_text(re.compile(step.says, re.DOTALL), timeout=WITHIN_MS)
    place = step.at or step.path
    if place is not None and (step.shows or step.hides):
        page.goto(fill_in(place, values))
        assert step.shows is None or step.shows in page.content(), page.locator("main").inner_text()
        assert step.hides is None or step.hides not in page.content()


def _type(control: Any, value: str) -> None:
    """Type a value: `on` checks a box, and the text of a file becomes a file."""
    kind = control.get_attribute("type") or control.evaluate("(each) => each.tagName")
    if kind == "checkbox":
        control.set_checked(value == "on")
    elif kind == "file":
        control.set_input_files({"name": "mine.csv", "mimeType": "text/csv", "buffer": value.encode()})
    elif value == FIRST:
        control.select_option(index=1)  # after that of none
    elif kind == "SELECT":
        control.select_option(value)
    else:
        control.fill(value)
