"""People in Chromium: they buy a name, approve a plan, import a file, split a charge. `check` runs it."""

import re
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from builders.identity import sign_in_pages
from tests.console.browser.account import Receiver, plan, promote, suggest
from tests.console.browser.people import BOOKKEEPER, BUYER, DOMAINER, OWNER, REVIEWER, STRANGER, WITHIN_S, Demo
from tests.plans.make import alias, full_manifest

Browse = Callable[..., Any]
UNNAMED = "What I own,Registrar,Expiry Date\nwalked-harbour.com,Porkbun,2030-01-05\nwalked-pier.net,Porkbun,soon\n"
BILL = """Order Date,Order Number,Transaction Type,Domain Name,Years,Total
2026-03-01,77001,Renewal,walked-fleet.com,1,$27.96
"""
RENEWALS = 30  # domains of the file of a domainer that expire soon
MAX_PAGE = 60 * 1024  # bytes
SHIFTS = """new Promise((done) => {
    let sum = 0;
    const add = (list) => list.getEntries().forEach((each) => { sum += each.value; });
    new PerformanceObserver(add).observe({ type: "layout-shift", buffered: true });
    setTimeout(() => done(sum), 300);
})"""
LOADED = """[...performance.getEntriesByType('resource'), ...performance.getEntriesByType('navigation')]
    .reduce((sum, each) => sum + each.encodedBodySize, 0)"""


@pytest.fixture
def browse(chromium: Any, site: Demo, watched: Callable[[Any], Any], complaints: list[str]) -> Iterator[Browse]:
    """Return a function that opens a browser; what the browsers complain about fails the test."""
    contexts = []

    def open_browser(path: str = "/", **options: Any) -> Any:
        contexts.append(chromium.new_context(base_url=site.origin, **options))
        page = watched(contexts[-1].new_page())
        page.on("dialog", lambda dialog: dialog.accept())
        page.goto(path)
        return page

    yield open_browser
    for context in contexts:
        context.close()
    found, complaints[:] = list(complaints), []
    assert found == []


@pytest.fixture
def signed_in(browse: Browse, site: Demo) -> Callable[[str], Any]:
    """Return a function that opens a browser of its own, in which a person signs in by the emailed link."""

    def open_console(who: str) -> Any:
        page = browse()
        site.sign_in(page, who)
        return page

    return open_console


@pytest.fixture(scope="session")
def key(site: Demo) -> Iterator[httpx.Client]:
    """Return a client with a live key of the buyer."""
    with site.make_client(BUYER) as client:
        yield client


@pytest.fixture
def reviewer(site: Demo, signed_in: Callable[[str], Any]) -> tuple[Any, Any]:
    """Return the browsers of the buyer, whose plans require an approval, and of who decides about them."""
    site.run("accounts", "create", "--email", REVIEWER)
    buyer, other = signed_in(BUYER), signed_in(REVIEWER)
    buyer.goto("/console/team")
    buyer.get_by_label("Email address", exact=True).fill(REVIEWER)
    buyer.get_by_label("Decides about plans", exact=True).check()
    buyer.get_by_role("button", name="Invite").click()
    other.goto(site.find_link(REVIEWER, "/v1/portfolio/team/join"))
    other.get_by_role("button", name="Accept").click()
    buyer.goto("/console/approval")
    buyer.get_by_label("Plans that require an approval").select_option("always")
    buyer.get_by_label("The account itself counts as one of them").select_option("refuse")
    buyer.get_by_role("button", name="Save").click()
    buyer.goto("/console/team")
    buyer.get_by_role("button", name="Confirm", exact=True).click()  # or the new decider waits for a day
    _wait(buyer, buyer.get_by_role("status").is_visible)
    return buyer, other


def test_names_are_found_while_a_person_types(browse: Browse) -> None:
    page = browse()
    page.keyboard.type("sales")
    page.get_by_text("sales is reserved").wait_for()

    assert page.locator("#found tbody th").count() > 0
    assert page.url.endswith("/")


def test_a_browser_proves_work_for_a_new_address(browse: Browse) -> None:
    """The page is that of a service where many people sign up; the proof is computed and checked."""
    page = browse()
    asked = sign_in_pages.code_page("newcomer@example.net", return_to=None, needs_work=True)
    page.route("**/v1/auth/login", lambda each: each.fulfill(headers=dict(asked.headers), body=asked.body))
    page.get_by_label("Email address", exact=True).fill("newcomer@example.net")
    page.get_by_role("button", name="Email me a code").click()
    page.get_by_role("button", name="I am new here").click()
    page.wait_for_url("**/v1/auth/login/work", timeout=WITHIN_S * 1000)

    assert page.get_by_role("heading", level=1).inner_text() == "Check your email"
    assert page.get_by_role("alert").count() == 0


def test_a_name_is_bought_by_keyboard_alone(
    browse: Browse, site: Demo, receiver: Receiver, key: httpx.Client
) -> None:
    """Search, sign in by the link in the emailed message, plan, review, promote, watch the delivery."""
    hook = {"label": "orders", "url": f"http://{receiver.address}/orders", "events": ["alias.*"], "enabled": True}
    key.post("/v1/notifications/webhooks", json=hook).raise_for_status()
    page = browse()
    page.wait_for_function("document.activeElement.name === 'q'")  # the search has the focus
    page.keyboard.type("olga")
    page.keyboard.press("Enter")
    page.wait_for_url("**/search?q=olga")
    address = page.locator("tbody th").first.inner_text()
    _press(page, "Claim")
    page.wait_for_url("**/console/claim?**")
    _tab_to(page, "Email address")
    began = time.time()
    page.keyboard.type(BUYER)
    page.keyboard.press("Enter")
    page.goto(site.find_link(BUYER, "/v1/auth/login", after=began))
    _press(page, "Sign in")
    page.wait_for_url("**/console/claim?**")  # where the purchase was left
    _press(page, "Make the plan")
    page.wait_for_url("**/console/plans/**")
    assert address in page.get_by_role("main").inner_text()
    _press(page, "Buy for")
    page.wait_for_url("**/console/promotions/**")
    _wait(page, lambda: _heading(page) == "Promotion succeeded")
    assert [each["address"] for each in key.get("/v1/aliases").json()["items"]] == [address]

    page.goto("/console/deliveries?event=alias.created")
    _wait(page, lambda: "succeeded" in " ".join(page.locator("tbody").all_inner_texts()), reload=True)
    page.get_by_role("link", name="alias.created").first.click()
    assert re.search(r"\b200\b.*taken", page.locator("tbody").inner_text(), re.DOTALL)
    [taken] = [each for each in receiver.taken if address in each.body.decode()]
    assert taken.headers["webhook-id"] in page.get_by_role("main").inner_text()


def test_a_plan_of_a_key_waits_until_a_second_person_approves_it(
    reviewer: tuple[Any, Any], site: Demo, key: httpx.Client
) -> None:
    """By keyboard alone, from the link in the message to the approval."""
    buyer, other = reviewer
    [address] = suggest(key, "heidi", 1)
    planned = plan(key, full_manifest("by-a-key", aliases=[alias(address)]))
    waiting = promote(key, planned, when_approved=True)
    assert waiting["status"] == "waiting"
    buyer.goto(f"/console/promotions/{waiting['id']}")
    assert _heading(buyer) == "Promotion waiting"

    other.goto(site.find_link(REVIEWER, "/plans"))
    assert address in other.get_by_role("main").inner_text()
    _tab_to(other, "Comment")
    other.keyboard.type("As agreed.")
    _press(other, "Approve this plan")
    _wait(other, other.get_by_role("status").is_visible)
    assert "As agreed." in other.get_by_role("main").inner_text()

    _wait(buyer, lambda: _heading(buyer) == "Promotion succeeded")  # its page refreshes by itself
    buyer.goto(f"/console/plans/{planned['id']}")
    assert "As agreed." in buyer.get_by_role("main").inner_text()  # who decided what
    assert address in [each["address"] for each in key.get("/v1/aliases").json()["items"]]


def test_a_failing_webhook_is_repaired_and_its_events_are_sent_again(
    signed_in: Callable[[str], Any], receiver: Receiver, key: httpx.Client
) -> None:
    page = signed_in(BUYER)
    destination = _add_destination(page, f"http://{receiver.address}/wrong")
    for label in ("one", "two", "three"):
        key.post("/v1/builders/projects", json={"name": f"walk {label}"}).raise_for_status()

    # The page shows why it fails.
    failed = page.get_by_role("row").filter(has_text="500").get_by_role("link").first
    _wait(page, failed.is_visible, reload=True)
    failed.click()
    assert "the table orders is missing" in page.locator("tbody").inner_text()
    delivery = page.url

    # The URL and the secret are corrected.
    page.goto(destination)
    page.get_by_label("URL", exact=True).fill(f"http://{receiver.address}/shop")
    page.get_by_role("button", name="Save").click()
    page.get_by_role("button", name="Rotate the secret").click()
    [secret] = re.findall(r"whsec_\S+", page.get_by_role("main").inner_text())
    receiver.works.add("/shop")

    # One delivery is sent again, then the others, then the span.
    page.goto(delivery)
    page.get_by_role("button", name="Send again now").click()
    _wait(page, page.get_by_role("status").is_visible)
    _wait(page, lambda: "200" in page.locator("tbody").inner_text(), reload=True)
    assert [each.is_signed(secret) for each in receiver.taken if each.path == "/shop"][:1] == [True]
    hook = destination.partition("?")[0].rpartition("/")[2]
    for each in _deliveries(key, hook):
        if each["status"] != "succeeded":  # the next attempt may be minutes away
            page.goto(f"/console/deliveries/{each['id']}")
            page.get_by_role("button", name="Send again now").click()
    _wait(page, lambda: {each["status"] for each in _deliveries(key, hook)} == {"succeeded"})
    wanted = sorted(each["event_id"] for each in _deliveries(key, hook))
    assert len(wanted) >= 3
    receiver.taken.clear()
    _send_again(page, destination)
    _wait(page, lambda: receiver.ids("/shop") == wanted)


def _add_destination(page: Any, url: str) -> str:
    """Add a destination; return the address of its page."""
    page.goto("/console/webhooks")
    page.get_by_label("Label", exact=True).fill("shop")
    page.get_by_label("URL", exact=True).fill(url)
    page.get_by_role("button", name="Add", exact=True).click()
    page.get_by_role("link", name="The destination").click()
    return str(page.url)


def _send_again(page: Any, destination: str) -> None:
    """Send all events of a span to a destination again."""
    page.goto(destination)
    page.get_by_label("Since, in UTC").fill("2026-01-01T00:00")
    page.get_by_label("Deliveries", exact=True).select_option("succeeded")
    page.get_by_role("button", name="Send again", exact=True).click()
    _wait(page, page.get_by_role("status").is_visible)
    assert page.get_by_role("status").inner_text().endswith(" sent again.")


def test_a_form_sent_again_after_a_step_back_makes_one_project(browse: Browse, known: Mapping[str, Any]) -> None:
    page = browse("/console/projects", storage_state=known["cookies"][STRANGER])

    def send(name: str) -> str:
        page.get_by_label("Name", exact=True).fill(name)
        page.get_by_role("button", name="Create").click()
        page.wait_for_url("**/console/projects/**")
        return str(page.url)

    first = send("Walked twice")
    page.go_back()
    again = send("Walked twice")
    page.go_back()
    changed = send("Walked once")
    page.goto("/console/projects")
    anew = send("Walked twice")

    assert again == first
    assert len({first, changed, anew}) == 3


def test_a_text_is_copied(known: Mapping[str, Any], browse: Browse) -> None:
    name = known["values"]["names.id"]
    page = browse(
        f"/console/names/{name}",
        storage_state=known["cookies"][OWNER],
        permissions=["clipboard-read", "clipboard-write"],
    )
    page.get_by_role("button", name="Copy").first.click()

    assert page.evaluate("navigator.clipboard.readText()") == name


def test_the_domains_of_a_page_are_selected_at_once(known: Mapping[str, Any], browse: Browse) -> None:
    page = browse("/console/portfolio/domains?limit=20", storage_state=known["cookies"][OWNER])
    _press(page, "Select all on this page")
    assert page.locator("tbody input:checked").count() == 20

    page.goto("/console/portfolio/notices")  # its forms have hidden ids
    assert page.get_by_role("button", name="Select all").count() == 0


def test_the_first_page_is_small(known: Mapping[str, Any], browse: Browse) -> None:
    assert browse("/console", storage_state=known["cookies"][OWNER]).evaluate(LOADED) <= MAX_PAGE


def test_the_first_page_does_not_shift(known: Mapping[str, Any], browse: Browse) -> None:
    assert browse("/console", storage_state=known["cookies"][OWNER]).evaluate(SHIFTS) == 0


def _deliveries(client: httpx.Client, hook: str) -> list[dict[str, Any]]:
    found = client.get("/v1/notifications/deliveries", params={"webhook_id": hook}).raise_for_status().json()
    items: list[dict[str, Any]] = found["items"]
    return items


def test_a_messy_file_is_mapped_imported_and_undone(browse: Browse, known: Mapping[str, Any]) -> None:
    """From the file to the result; then the dry run of the undo, and the undo."""
    page = browse("/console/portfolio/import", storage_state=known["cookies"][STRANGER])
    file = {"name": "mine.csv", "mimeType": "text/csv", "buffer": UNNAMED.encode()}
    page.get_by_label("CSV file or workbook with domains, purchases and sales").set_input_files(file)
    _press(page, "Preview")
    assert "Choose the column with the domain" in page.get_by_role("alert").inner_text()
    page.get_by_label("Field of What I own").select_option("domain")
    _press(page, "Preview again")
    page.wait_for_function("!document.querySelector('[role=alert]')")
    assert page.locator("td.wrong").all_inner_texts() == [
        "soon\n“soon” is not a date. Write it as YYYY-MM-DD. The cell was ignored."
    ]
    page.get_by_label("Save this mapping as").fill("what-i-own")
    _press(page, "Import 2 rows")
    page.wait_for_url("**/console/portfolio/imports/**")
    _wait(page, lambda: _heading(page).endswith("completed"))
    assert page.get_by_role("link", name="walked-pier.net").is_visible()
    imported = page.url

    _press(page, "Show what an undo does")
    page.wait_for_url("**/do/import-undo-check")
    _press(page, "Undo this import")
    page.wait_for_url(imported.partition("?")[0] + "**")
    _wait(page, lambda: _heading(page).endswith("undone"), reload=True)
    page.goto("/console/portfolio/import")
    assert page.get_by_role("option", name="what-i-own (saved mapping)").count() == 1


@pytest.fixture
def export(tmp_path: Path) -> Path:
    """Return the file of a domainer: an unknown header, days and prices as Germans write them, bad cells."""
    soon = [datetime.now(UTC) + timedelta(days=10 + number) for number in range(RENEWALS)]
    expires = {f"harbour-{number:02}.com": f"{day:%d.%m.%Y}" for number, day in enumerate(soon)}
    expires |= {"harbour-later.com": "31.12.2031", "harbour-odd.com": "soon", "www.harbour-host.com": "31.12.2031"}
    lines = (f"{domain};Porkbun;{day};11,08;secret" for domain, day in expires.items())
    file = tmp_path / "mine.csv"
    file.write_text(
        "\n".join(["What I own;Registrar;Expiry Date;Renewal Price;Password", *lines]), encoding="utf-8"
    )
    return file


def test_a_domainer_comes_from_a_messy_file_to_decisions_by_keyboard_alone(
    site: Demo, signed_in: Callable[[str], Any], export: Path
) -> None:
    site.run("accounts", "create", "--email", DOMAINER)
    page = signed_in(DOMAINER)
    for name, path in (("Portfolio", ""), ("Import", "/import")):
        _press(page, name)
        page.wait_for_url(f"**/console/portfolio{path}")
    _tab_to(page, "CSV file or workbook with domains, purchases and sales")
    with page.expect_file_chooser() as chooser:
        page.keyboard.press("Space")
    chooser.value.set_files(export)
    _press(page, "Preview")
    page.wait_for_url("**/do/import-preview")
    _tab_to(page, "Field of What I own")
    page.keyboard.type("domain")
    _press(page, "Preview again")
    page.wait_for_function("!document.querySelector('[role=alert]')")
    _press(page, f"Import {RENEWALS + 3} rows")
    page.wait_for_url("**/console/portfolio/imports/**")
    _wait(page, lambda: _heading(page).endswith("completed"))

    _press(page, "Renewals")
    page.wait_for_url("**/console/portfolio/renewals")
    _tab_to(page, "What if the budget is")
    page.keyboard.type("200")
    page.keyboard.press("Enter")
    page.wait_for_url("**budget=200**")
    assert "all renewals cost 332.40 USD and leave -132.40 USD" in _words(page)
    for number in range(RENEWALS):
        _tab_to(page, "Undecided", presses=2 if number else 60)
        page.keyboard.press("ArrowLeft" if number % 2 else "ArrowRight")  # to the decision before it, or the first
    _press(page, "Save the decisions")
    _wait(page, page.get_by_role("status").is_visible)

    with site.make_client(DOMAINER, "domainer_full") as client:
        items = client.get("/v1/portfolio/renewals?within_days=90").raise_for_status().json()["items"]
    assert [each["decision"] for each in items] == ["renew", "drop"] * (RENEWALS // 2)


def test_a_charge_is_split_on_two_domains_by_keyboard_alone(site: Demo, signed_in: Callable[[str], Any]) -> None:
    """Its row names a domain that is not in the portfolio."""
    site.run("accounts", "create", "--email", BOOKKEEPER)
    page = signed_in(BOOKKEEPER)
    charges = "/v1/portfolio/registrars/billing/charges"
    with site.make_client(BOOKKEEPER, "domainer_full") as client:
        for domain in ("walked-bay.com", "walked-cove.com"):
            client.post("/v1/portfolio/domains", json={"domain": domain}).raise_for_status()
        body = {"csv": BILL, "format": "namecheap"}
        client.post("/v1/portfolio/registrars/billing/import", json=body).raise_for_status()
        [whole] = client.get(charges).raise_for_status().json()["items"]
        assert whole["state"] == "unmatched"

        for name, path in (("Portfolio", ""), ("Registrars", "/registrars"), ("Charges", "/registrars/charges")):
            _press(page, name)
            page.wait_for_url(f"**/console/portfolio{path}")
        _press(page, "Split")
        _tab_to(page, "Domains and amounts", presses=1)
        page.keyboard.type("walked-bay.com 20.00\nwalked-cove.com 7.96")
        _press(page, "Split and book")
        _wait(page, page.get_by_role("status").is_visible)
        found = client.get(charges).raise_for_status().json()["items"]

    parts = {each["domain"]: each for each in found if each["id"] != whole["id"]}
    assert {domain: (each["total"]["amount"], each["state"]) for domain, each in parts.items()} == {
        "walked-bay.com": ("20.00", "applied"),
        "walked-cove.com": ("7.96", "applied"),
    }
    assert {each["split_of"] for each in parts.values()} == {whole["id"]}


def _words(page: Any) -> str:
    """Return the text of the page with single spaces."""
    return " ".join(page.get_by_role("main").inner_text().split())


def _heading(page: Any) -> str:
    return str(page.get_by_role("heading", level=1).inner_text())


def _wait(page: Any, is_done: Callable[[], bool], *, reload: bool = False) -> None:
    """Wait until something is done, in the background or on the page."""
    deadline = time.monotonic() + WITHIN_S
    while not is_done():
        assert time.monotonic() < deadline, page.get_by_role("main").inner_text()
        page.wait_for_timeout(200)
        if reload:
            page.reload()


def _press(page: Any, label: str) -> None:
    """Press Enter on the element with this text."""
    _tab_to(page, label)
    page.keyboard.press("Enter")


def _tab_to(page: Any, label: str, *, presses: int = 60) -> None:
    """Press Tab until the element with this text or label has the focus, which must be visible."""
    page.wait_for_load_state()
    seen = []
    for _ in range(presses):
        page.keyboard.press("Tab")
        read = page.evaluate(
            "(e => e.ariaLabel || (e.labels?.[0] ?? e).innerText || '')(document.activeElement).trim()",
        )
        seen.append(read)
        if read.startswith(label):
            assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"
            return
    raise AssertionError(f"{label} is not reached with {presses} tabs: {seen}")
