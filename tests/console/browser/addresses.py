"""Every page that a person can open: the declared ones in each space, those after a form, those of messages."""

import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import httpx

from builders.console import pages
from tests.console.browser.account import BILL, LISTED, MESSY, REVENUE
from tests.console.browser.people import ACCOUNTANT, DECIDER, OWNER, STRANGER

NOBODY, SUPPORT = "", "support"
OK = 200
UNKNOWN = "01a20000-0000-7000-8000-000000000000"
ISSUER = "http://127.0.0.1:9/realms/staff"
# The lists in which a parameter of a path is found: by the first page below which it stands.
LISTS = {
    "names": "/v1/aliases",
    "plans": "/v1/sandbox/plans",
    "domains": "/v1/domains",
    "webhooks": "/v1/notifications/webhooks",
    "deliveries": "/v1/notifications/deliveries",
    "projects": "/v1/builders/projects",
    "invoices": "/v1/invoices",
}
# Pages of one that are no 404 there.
IN_TEST = {"search": 200, "plans": 200, "promotions": 200, "device": 403, "connect": 403, "mail": 403}
QUERIES = {
    "portfolio/connect": "provider=porkbun",
    "claim": "local_part=zoe&domain=harbour.example",
    "search": "q=ada",
}


@dataclass(frozen=True, slots=True)
class Shown:
    """A page: where it is, who opens it, and what they do there before they see it."""

    path: str  # with parameters, which `parameters` fills in
    who: str = OWNER
    then: Callable[[Any], None] | None = None
    status: int = 200


@dataclass(frozen=True, slots=True)
class Mailed:
    """A page that opens with the newest link to a path in the messages to somebody."""

    path: str
    to: str
    who: str = NOBODY
    status: int = 200


def _press(button: str, **typed: str) -> Callable[[Any], None]:
    def send(page: Any) -> None:
        for label, text in typed.items():
            page.get_by_label(label.replace("_", " "), exact=True).first.fill(text)
        page.get_by_role("button", name=button, exact=True).first.click()
        page.wait_for_load_state()

    return send


def _save_stale(page: Any) -> None:
    """Save a form that another tab has changed since."""
    other = page.context.new_page()
    other.goto(page.url)
    was = page.get_by_label("Label", exact=True).input_value()
    _press("Save", Label=f"{was.partition(' at ')[0]} at {time.time_ns() % 10**9}")(other)
    other.close()
    _press("Save", Label="mine")(page)


def _preview(page: Any) -> None:
    """Choose a file with bad cells and preview it."""
    file = {"name": "mine.csv", "mimeType": "text/csv", "buffer": MESSY.encode()}
    page.get_by_label("CSV file or workbook with domains, purchases and sales").set_input_files(file)
    _press("Preview")(page)


def _preview_with(source: str, **typed: str) -> Callable[[Any], None]:
    """Return what shows what another file would do."""

    def preview(page: Any) -> None:
        file = {"name": "mine.csv", "mimeType": "text/csv", "buffer": source.encode()}
        page.locator("#file").set_input_files(file)
        _press("Preview", **typed)(page)

    return preview


def _edit(page: Any) -> None:
    """Show what a change of all domains of a view changes."""
    page.get_by_text("Change the selected domains, or all").click()
    page.get_by_label("All domains of this view").check()
    _press("Show what changes", Move_to_folder="Spring")(page)


def _declared(space: str, who: str = OWNER, *, for_teams: bool = False) -> Iterator[tuple[str, Shown]]:
    for page in pages.PAGES:
        if for_teams and not page.for_teams:
            continue
        first = page.path.partition("/")[0]
        query = f"?{QUERIES[page.path]}" if page.path in QUERIES else ""
        path = f"{space}/{page.path}".rstrip("/") + query
        # The sandbox of the owner is empty: there the page of one is that of none.
        status = IN_TEST.get(first, 404) if space == "/console/test" and "{" in page.path else 200
        if status == OK and first in {"connect", "mail"}:  # the demo has no request of a program, and no mail
            status = 404
        where = space.removeprefix("/console").replace("{owner_id}", "").replace("/", " ").strip()
        name = " ".join(filter(None, (where, page.path.replace("/", " ") or "inbox")))
        yield name, Shown(path.replace("{id}", f"{{{first}.id}}"), who, status=status)


AFTER_FORMS: Mapping[str, Shown] = {
    "key-mint": Shown("/console/keys", then=_press("Mint", Label="of the walk")),
    "import-preview": Shown("/console/portfolio/import", then=_preview),
    "bill-preview": Shown("/console/portfolio/registrars/bill", then=_preview_with(BILL)),
    "holdings-preview": Shown(
        "/console/portfolio/registrars/list", then=_preview_with(LISTED, Registrar="manual:clicked")
    ),
    "revenue-preview": Shown("/console/portfolio/parking/file", then=_preview_with(REVENUE)),
    "domains-preview": Shown("/console/portfolio/domains?tag=food", then=_edit),
    "import-undo-check": Shown("/console/portfolio/imports/{import_id}", then=_press("Show what an undo does")),
    "calendar-create": Shown("/console/portfolio/notices", then=_press("Create a link")),
    "webhook-add": Shown("/console/webhooks", then=_press("Add", Label="w", URL="https://93.184.215.14/w")),
}
PAGES: Mapping[str, Shown | Mailed] = {
    **dict(_declared("/console")),
    **dict(_declared("/console/test")),
    **dict(_declared("/console/of/{owner_id}", DECIDER, for_teams=True)),
    **{f"after {name}": shown for name, shown in AFTER_FORMS.items()},
    "start": Shown("/", NOBODY),
    "start found": Shown("/search?q=ada", NOBODY),
    "start found nothing": Shown("/search?q=zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz", NOBODY),
    "start found reserved": Shown("/search?q=sales", NOBODY),
    "catalog": Shown("/catalog", NOBODY),
    "catalog category": Shown("/categories/business", NOBODY),
    "catalog domain": Shown("/catalog/harbour.example", NOBODY),
    "catalog without the domain": Shown("/catalog/nowhere.example", NOBODY, status=404),
    "claim a taken name": Shown("/console/claim?local_part=admin&domain=harbour.example"),
    "list with a next page": Shown("/console/names?limit=3"),
    "list filtered to nothing": Shown("/console/names?q=nothing-like-it"),
    "portfolio what if": Shown("/console/portfolio/renewals?drop_max_income=100&budget=20"),
    "portfolio filtered to nothing": Shown("/console/portfolio/domains?q=nothing-like-it"),
    "search of nothing": Shown("/console/search?q=nothing-like-it"),
    "plan with errors": Shown("/console/plans/{blocked_id}"),
    "plan promoted": Shown("/console/plans/{promoted_id}"),
    "delivery failed": Shown("/console/deliveries/{failed_id}"),
    "support inbox": Shown("/console", SUPPORT),
    "support plan": Shown("/console/plans/{plan_id}", SUPPORT),
    # Refusals: 401, 403, 404, 409, 412, 422 in the console, and outside it.
    "signed out": Shown("/console/plans", NOBODY, status=401),
    "no decider": Shown("/console/of/{owner_id}/plans/{plan_id}", ACCOUNTANT, status=403),
    "stranger": Shown("/console/of/{owner_id}/approval", STRANGER, status=404),
    "no such page": Shown("/console/nothing", status=404),
    "no such page of a team": Shown("/console/of/{owner_id}/names", DECIDER, status=404),
    "conflict": Shown("/console/domains", then=_press("Add", Domain="own-name.example"), status=409),
    "stale form": Shown("/console/webhooks/{webhook_id}", then=_save_stale, status=412),
    "wrong filter": Shown("/console/names?status=lost", status=422),
    "wrong field": Shown("/console/domains", then=_press("Add", Domain="no domain"), status=422),
    "support changes nothing": Shown("/console/keys", SUPPORT, then=_press("Mint", Label="k"), status=403),
    "no such address": Shown("/nothing", NOBODY, status=404),
    # Ways to sign in, and messages.
    "sign in": Shown("/v1/auth/login", NOBODY),
    "sign in by code": Shown("/v1/auth/login", NOBODY, _press("Email me a sign-in code", Email_address=DECIDER)),
    "sign in by link": Mailed("/v1/auth/login", DECIDER),
    "sign in by a used link": Shown("/v1/auth/login?token=never-was-a-token", NOBODY, status=400),
    "sign in by a cut link": Shown("/v1/auth/login?token=cut", NOBODY, status=422),
    "sign in at an issuer": Shown(f"/v1/auth/login/issuer?issuer={ISSUER}", NOBODY, status=503),
    "sign in refused by an issuer": Shown("/v1/auth/login/callback?state=x&code=y", NOBODY, status=400),
    "confirm an address": Mailed("/v1/account/email-verification/confirm", "unverified@example.net"),
    "confirm a lead": Mailed("/v1/leads/confirm", "lead@example.net"),
    "confirm a destination": Mailed("/v1/aliases/destinations/confirm", "ada@example.net"),
    "keep an account": Mailed("/v1/account/erasure/cancel", STRANGER),
    "confirm by a used link": Shown("/v1/leads/confirm?token=never-was-a-token", NOBODY, status=400),
    "unsubscribe": Mailed("/v1/mail/unsubscribe", OWNER),
    "join a team": Mailed("/v1/portfolio/team/join", STRANGER, STRANGER),
    "join a team with another address": Mailed("/v1/portfolio/team/join", STRANGER, OWNER, status=403),
    "invoice": Shown("/v1/invoices/{invoice_id}"),
}


def parameters(client: httpx.Client, known: Mapping[str, str]) -> Mapping[str, str]:
    """Return the value of each parameter: the newest of its list, and what is known."""
    found = {"asked_id": UNKNOWN}
    for name, path in LISTS.items():
        found[f"{name}.id"] = _newest(client, path)
    found["deliveries.id"] = _newest(client, LISTS["deliveries"], status="succeeded", event="invoice.created")
    for name in ("blocked", "promoted"):
        found[f"{name}_id"] = _newest(client, LISTS["plans"], status=name)
    found["failed_id"] = _newest(client, LISTS["deliveries"], status="pending", event="promotion.completed")
    for parameter in {each for page in pages.PAGES for each in re.findall(r"\{(\w+)\}", page.path)} - {"id"}:
        names = {page.path.partition("/")[0] for page in pages.PAGES if f"{{{parameter}}}" in page.path}
        for name in names & LISTS.keys():
            found[parameter] = found[f"{name}.id"]
        found.setdefault(parameter, UNKNOWN)
    found["search.id"] = found["names.id"]
    return {**found, **known}


def _newest(client: httpx.Client, path: str, **wanted: str) -> str:
    [newest] = client.get(path, params={"limit": 1, **wanted}).raise_for_status().json()["items"]
    return str(newest["id"])


def fill_in(path: str, values: Mapping[str, str]) -> str:
    """Return a path without parameters."""
    return re.sub(r"\{([\w.]+)\}", lambda match: values[match[1]], path)
