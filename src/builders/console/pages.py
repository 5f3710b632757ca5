"""The pages of the console: each is a template, and the calls of the API whose answers it shows."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import timedelta
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode

from builders.console import portfolio
from builders.console.amounts import as_bound
from builders.console.calls import Api, Call, fill
from builders.kit.errors import NotFound
from builders.kit.http.internal_calls import Answer
from builders.kit.http.path_table import PathTable
from builders.kit.values import clock
from builders.portfolio.domains.filters import DomainFilters

# Parameters of the query that select domains.
_SELECTION = frozenset(each.name for each in fields(DomainFilters))
_PAGE = frozenset(("cursor", "limit"))
_MAX_ROWS = 50  # of a list: the serving loop renders them
_WEEK = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class Page:
    """A page: its calls by the name under which the template finds the body of the answer.

    The query of the page is that of its first call, except parameters of the page's `own`; a refusal of that call
    is the refusal of the page. Any other call may be refused: then the page says so in its place. In a path of the
    API, `{selection}` is what of the query selects domains, `{report}` the query of the first call without its
    page, and `{week_ago}` the day a week ago. A call with the value of an `own` parameter is made if there is one.
    """

    path: str  # below the first page of the space
    template: str
    calls: Mapping[str, str] = field(default_factory=dict)  # paths of the API, with their query
    may_all_fail: bool = False  # no call is the main one
    for_teams: bool = False  # a member of the account's team opens it too
    own: frozenset[str] = frozenset()  # parameters of its query that no call has


INBOX, PLAN = "", "plans/{plan_id}"
REQUESTS = "/v1/sandbox/approval-requests"
PAGES = (
    Page(
        INBOX,
        "inbox.html",
        {
            "requests": REQUESTS,
            "programs": "/v1/auth/oauth/requests",
            "team": "/v1/portfolio/team",
            "plans": "/v1/sandbox/plans?status=ready&limit=5",
            "deliveries": "/v1/notifications/deliveries?status=failed&limit=5",
            "destinations": "/v1/aliases/destinations?limit=100",
            "invoices": "/v1/invoices?status=open&limit=5",
            "domains": "/v1/domains?limit=100",
            "webhooks": "/v1/notifications/webhooks?limit=100",
            "suspended": "/v1/aliases?status=suspended&limit=5",
            "renewals": "/v1/portfolio/renewals?within_days=30&limit=5",
            "findings": "/v1/portfolio/registrars/reconcile?limit=5",
        },
        may_all_fail=True,
    ),
    Page(
        "search",
        "search.html",
        {
            "names": "/v1/aliases?q={q}&limit=20",
            "domains": "/v1/domains?q={q}&limit=20",
            "portfolio": "/v1/portfolio/domains?q={q}&limit=20",
            "projects": "/v1/builders/projects?q={q}&include_archived=true&limit=20",
            "plans": "/v1/sandbox/plans?q={q}&limit=20",
            "invoices": "/v1/invoices?number={q}",
            "deliveries": "/v1/notifications/deliveries?event={q}&limit=20",
            "webhooks": "/v1/notifications/webhooks?limit=100",
        },
        may_all_fail=True,
        own=frozenset(("q",)),
    ),
    Page(
        "search/{id}",
        "found.html",
        {
            "alias": "/v1/aliases/{id}",
            "plan": "/v1/sandbox/plans/{id}",
            "promotion": "/v1/sandbox/promotions/{id}",
            "domain": "/v1/domains/{id}",
            "webhook": "/v1/notifications/webhooks/{id}",
            "delivery": "/v1/notifications/deliveries/{id}",
            "invoice": "/v1/invoices/{id}",
            "project": "/v1/builders/projects/{id}",
        },
        may_all_fail=True,
    ),
    Page("claim", "claim.html", {"check": "/v1/catalog/check"}),
    Page("names", "names.html", {"names": "/v1/aliases", "projects": "/v1/builders/projects?limit=100"}),
    Page(
        "names/{alias_id}",
        "name.html",
        {
            "name": "/v1/aliases/{alias_id}",
            "destinations": "/v1/aliases/destinations?limit=100",
            "reception": "/v1/aliases/{alias_id}/receive-as-event",
            "webhooks": "/v1/notifications/webhooks?limit=100",
            "keys": "/v1/api-keys?limit=100",
        },
    ),
    Page(
        "names/{alias_id}/mail",
        "mail.html",
        {"mail": "/v1/aliases/{alias_id}/mail", "name": "/v1/aliases/{alias_id}"},
    ),
    Page(
        "names/{alias_id}/correspondents",
        "correspondents.html",
        {"correspondents": "/v1/aliases/{alias_id}/correspondents", "name": "/v1/aliases/{alias_id}"},
    ),
    Page(
        "mail/{alias_id}",
        "messages.html",
        {"messages": "/v1/aliases/{alias_id}/mail/messages", "name": "/v1/aliases/{alias_id}"},
    ),
    Page(
        "mail/{alias_id}/{message_id}",
        "message.html",
        {"message": "/v1/aliases/{alias_id}/mail/{message_id}", "name": "/v1/aliases/{alias_id}"},
    ),
    Page("plans", "plans.html", {"plans": "/v1/sandbox/plans", "requests": REQUESTS}, for_teams=True),
    Page(PLAN, "plan.html", {"plan": "/v1/sandbox/plans/{plan_id}"}, for_teams=True),
    Page("promotions/{promotion_id}", "promotion.html", {"promotion": "/v1/sandbox/promotions/{promotion_id}"}),
    Page("domains", "domains.html", {"domains": "/v1/domains"}),
    Page("domains/{id}", "domain.html", {"domain": "/v1/domains/{id}"}),
    Page("webhooks", "webhooks.html", {"webhooks": "/v1/notifications/webhooks"}),
    Page(
        "webhooks/{webhook_id}",
        "webhook.html",
        {
            "webhook": "/v1/notifications/webhooks/{webhook_id}",
            "deliveries": "/v1/notifications/deliveries?webhook_id={webhook_id}&limit=20",
        },
    ),
    Page(
        "deliveries",
        "deliveries.html",
        {
            "deliveries": "/v1/notifications/deliveries",
            "webhooks": "/v1/notifications/webhooks?limit=100",
        },
    ),
    Page("deliveries/{id}", "delivery.html", {"delivery": "/v1/notifications/deliveries/{id}"}),
    Page("events", "events.html", {"feed": "/v1/events"}),
    Page("keys", "keys.html", {"keys": "/v1/api-keys", "projects": "/v1/builders/projects?limit=50"}),
    Page("device", "device.html"),
    Page("device/{request_id}", "device_request.html", {"machine": "/v1/auth/device/requests/{request_id}"}),
    Page(
        "connect/{asked_id}",
        "connect.html",
        {
            "asked": "/v1/auth/oauth/requests/{asked_id}",
            "projects": "/v1/builders/projects?limit=100",
        },
    ),
    Page("connections", "connections.html", {"connections": "/v1/auth/connections"}),
    Page("sessions", "sessions.html", {"sessions": "/v1/auth/sessions"}),
    Page("emails", "emails.html", {"emails": "/v1/messages"}),
    Page("audit", "audit.html", {"audit": "/v1/account/audit", "keys": "/v1/api-keys?limit=100"}),
    Page("projects", "projects.html", {"projects": "/v1/builders/projects"}),
    Page("projects/{project_id}", "project.html", {"project": "/v1/builders/projects/{project_id}"}),
    Page("invoices", "invoices.html", {"invoices": "/v1/invoices"}),
    Page("invoices/{invoice_id}", "invoice.html", {"invoice": "/v1/invoices/{invoice_id}"}),
    Page("billing", "billing.html", {"billing": "/v1/invoices/billing-details"}),
    Page("account", "account.html", {"profile": "/v1/me"}),
    Page("exports", "exports.html", {"exports": "/v1/account/exports/complete"}, for_teams=True),
    Page("erasure", "erasure.html", {"erasure": "/v1/account/erasure"}, for_teams=True),
    Page(
        "team",
        "team.html",
        {"team": "/v1/portfolio/team", "deciders": "/v1/account/deciders"},
        for_teams=True,
    ),
    Page(
        "approval",
        "approval.html",
        {
            "policy": "/v1/sandbox/approval-policy",
            "deciders": "/v1/account/deciders",
            "connections": "/v1/auth/connections?limit=100",
        },
        for_teams=True,
    ),
    Page(
        "portfolio",
        "portfolio/summary.html",
        {
            "summary": "/v1/portfolio/summary",
            "week": "/v1/portfolio/summary?from={week_ago}&{selection}",
            "renewals": "/v1/portfolio/renewals?within_days=365&limit=1&{selection}",
            "best_roi": "/v1/portfolio/domains?sort=-roi&limit=5&{selection}",
            "worst_roi": "/v1/portfolio/domains?sort=roi&limit=5&{selection}",
            "best_net": "/v1/portfolio/domains?sort=-net&limit=5&{selection}",
            "worst_net": "/v1/portfolio/domains?sort=net&limit=5&{selection}",
            "updated": "/v1/portfolio/domains?sort=-updated_at&limit=10&{selection}",
        },
        for_teams=True,
    ),
    Page(
        "portfolio/domains",
        "portfolio/domains.html",
        {
            "domains": "/v1/portfolio/domains",
            "views": "/v1/portfolio/views",
            "team": "/v1/portfolio/team",
        },
        for_teams=True,
        own=frozenset((portfolio.COLUMNS,)),
    ),
    Page(
        "portfolio/renewals",
        "portfolio/renewals.html",
        {
            "renewals": "/v1/portfolio/renewals?within_days=90&limit=50",
            "dropped": "/v1/portfolio/renewals?limit=1&max_income={drop_max_income}&{report}",
            "team": "/v1/portfolio/team",
        },
        for_teams=True,
        own=frozenset((portfolio.BUDGET, portfolio.DROP_MAX_INCOME)),
    ),
    Page(
        "portfolio/parking",
        "portfolio/parking.html",
        {"parking": "/v1/portfolio/parking?limit=50", "team": "/v1/portfolio/team"},
        for_teams=True,
    ),
    Page(
        "portfolio/notices",
        "portfolio/notices.html",
        {
            "notices": "/v1/portfolio/notifications?limit=20",
            "preferences": "/v1/portfolio/notifications/preferences",
        },
        for_teams=True,
    ),
    Page(
        "portfolio/import",
        "portfolio/import.html",
        {"formats": "/v1/portfolio/formats", "imports": "/v1/portfolio/imports?limit=20"},
        for_teams=True,
    ),
    Page(
        "portfolio/imports/{import_id}",
        "portfolio/imported.html",
        {"imported": "/v1/portfolio/imports/{import_id}"},
        for_teams=True,
    ),
    Page(
        "portfolio/registrars",
        "portfolio/registrars.html",
        {"registrars": "/v1/portfolio/registrars", "team": "/v1/portfolio/team"},
        for_teams=True,
    ),
    Page(
        "portfolio/connect",
        "portfolio/connect.html",
        {"registrars": "/v1/portfolio/registrars", "team": "/v1/portfolio/team"},
        for_teams=True,
        own=frozenset(("provider", "connection")),
    ),
    Page(
        "portfolio/runs/{run_id}",
        "portfolio/run.html",
        {"run": "/v1/portfolio/registrars/runs/{run_id}"},
        for_teams=True,
    ),
    Page(
        "portfolio/registrars/inventory",
        "portfolio/inventory.html",
        {"inventory": "/v1/portfolio/registrars/inventory?limit=50"},
        for_teams=True,
    ),
    Page(
        "portfolio/registrars/charges",
        "portfolio/charges.html",
        {"charges": "/v1/portfolio/registrars/billing/charges?limit=50", "team": "/v1/portfolio/team"},
        for_teams=True,
    ),
    Page(
        "portfolio/registrars/reconcile",
        "portfolio/reconcile.html",
        {"differences": "/v1/portfolio/registrars/reconcile?limit=50", "team": "/v1/portfolio/team"},
        for_teams=True,
    ),
    Page(
        "portfolio/registrars/bill",
        "portfolio/bill.html",
        {
            "formats": "/v1/portfolio/formats",
            "templates": "/v1/portfolio/registrars/billing/templates",
            "team": "/v1/portfolio/team",
        },
        for_teams=True,
    ),
    Page(
        "portfolio/registrars/list",
        "portfolio/holdings.html",
        {
            "formats": "/v1/portfolio/formats",
            "registrars": "/v1/portfolio/registrars",
            "team": "/v1/portfolio/team",
        },
        for_teams=True,
    ),
    Page(
        "portfolio/parking/file",
        "portfolio/revenue.html",
        {
            "formats": "/v1/portfolio/formats",
            "templates": "/v1/portfolio/registrars/billing/templates",
            "team": "/v1/portfolio/team",
        },
        for_teams=True,
    ),
    Page(
        "portfolio/currencies",
        "portfolio/currencies.html",
        {
            "rates": "/v1/portfolio/exchange-rates",
            "renewals": "/v1/portfolio/renewals?limit=1",  # has the base currency
            "domains": "/v1/portfolio/domains?limit=1",
            "team": "/v1/portfolio/team",
        },
        for_teams=True,
    ),
    Page(
        "portfolio/entries",
        "portfolio/entries.html",
        {"entries": "/v1/portfolio/entries?limit=50&include_total=true"},
        for_teams=True,
    ),
    Page(
        "portfolio/sale/{domain_id}",
        "portfolio/sale.html",
        {
            "finance": "/v1/portfolio/domains/{domain_id}/finance",
            "domain": "/v1/portfolio/domains/{domain_id}",
            "team": "/v1/portfolio/team",
        },
        for_teams=True,
    ),
    Page(
        "portfolio/remove/{domain_id}",
        "portfolio/remove.html",
        {"domain": "/v1/portfolio/domains/{domain_id}", "team": "/v1/portfolio/team"},
        for_teams=True,
    ),
    Page(
        "portfolio/domains/{domain_id}",
        "portfolio/domain.html",
        {
            "domain": "/v1/portfolio/domains/{domain_id}",
            "finance": "/v1/portfolio/domains/{domain_id}/finance",
            "transfer": "/v1/portfolio/domains/{domain_id}/transfer",
            "held": "/v1/portfolio/registrars/inventory?domain_id={domain_id}",
            "history": "/v1/portfolio/domains/{domain_id}/history?limit=10",
            "team": "/v1/portfolio/team",
        },
        for_teams=True,
    ),
    Page(
        "portfolio/history/{domain_id}",
        "portfolio/history.html",
        {
            "history": "/v1/portfolio/domains/{domain_id}/history",
            "domain": "/v1/portfolio/domains/{domain_id}",
            "team": "/v1/portfolio/team",
        },
        for_teams=True,
    ),
)
_TABLE: PathTable[Page] = PathTable()
for _page in PAGES:
    _TABLE.add("GET", f"/{_page.path}", _page)


@dataclass(frozen=True, slots=True)
class Read:
    """A page with the answers to its calls."""

    page: Page
    calls: Mapping[str, Call]
    answers: Mapping[str, Answer]

    @property
    def main(self) -> Answer | None:
        """Return the answer to the first call, without which there is no page."""
        return None if self.page.may_all_fail else next(iter(self.answers.values()), None)

    @property
    def status(self) -> int:
        """Return the status of the page."""
        return HTTPStatus.OK if self.main is None else self.main.status

    def bodies(self) -> dict[str, Any]:
        """Return the bodies by name; None for a refusal, whose problem is in `refused`."""
        shown = {name: each.body if each.is_ok else None for name, each in self.answers.items()}
        refused = {name: each.body for name, each in self.answers.items() if not each.is_ok}
        return {
            **shown,
            "results": shown,
            "refused": refused,
            "report": _report_of(next(iter(self.calls.values())).target.partition("?")[2]) if self.calls else "",
            "etag": None if self.main is None else self.main.etag,
        }


def find(path: str) -> tuple[Page, Mapping[str, str]]:
    """Return the page of a path below the first page, with the values of its parameters. Raise NotFound."""
    endpoints, values = _TABLE.find(f"/{path}")
    if "GET" not in endpoints:
        raise NotFound("There is no such page.")
    page, names = endpoints["GET"]
    return page, dict(zip(names, values, strict=True))


async def read(api: Api, path: str, query: str) -> Read:
    """Make the calls of a page. Raise NotFound for an unknown one."""
    page, values = find(path)
    if api.space.owner is not None and not page.for_teams:
        raise NotFound("A team has no such page.")
    typed = [  # an empty field of a filter selects nothing
        (name, await as_bound(api, value) if name == portfolio.DROP_MAX_INCOME else value)
        for name, value in parse_qsl(query)
    ]
    calls = calls_of(page, values, typed)
    if api.space.owner is not None:  # the page of a team leaves out what would be the person's own
        first = next(iter(calls), None)
        calls = {name: each for name, each in calls.items() if name == first or api.is_for_teams(each)}
    answers = await asyncio.gather(*map(api.send, calls.values()))
    return Read(page, calls, dict(zip(calls, answers, strict=True)))


def calls_of(page: Page, path_values: Mapping[str, str], query: Sequence[tuple[str, str]]) -> Mapping[str, Call]:
    """Return the calls of a page. Raise NotFound."""
    sent = [(name, _bounded(value) if name == "limit" else value) for name, value in query if name not in page.own]
    names = {name for name, _ in sent}
    values = dict.fromkeys(page.own, "") | {name: value for name, value in query if name in page.own}
    values |= path_values
    known = {name: quote(value, safe="") for name, value in values.items()} | {
        "selection": urlencode([(name, value) for name, value in sent if name in _SELECTION]),
        "week_ago": (clock.now() - _WEEK).date().isoformat(),
    }
    calls: dict[str, Call] = {}
    for name, target in page.calls.items():
        where, _, own = target.partition("?")
        if any(f"{{{each}}}" in own and not values[each] for each in page.own):
            continue
        pairs = parse_qsl(own.format_map(known))
        if not calls:  # what the address says counts before what the page says
            pairs = [each for each in pairs if each[0] not in names] + sent
            known["report"] = _report_of(urlencode(pairs))
        calls[name] = Call("GET", f"{fill(where, path_values)}?{urlencode(pairs)}".removesuffix("?"))
    return calls


def _bounded(limit: str) -> str:
    """Return a number of rows, at most those of a page; another text as it is, which the API refuses."""
    is_more = limit.isdecimal() and (len(limit) > len(str(_MAX_ROWS)) or int(limit) > _MAX_ROWS)
    return str(_MAX_ROWS) if is_more else limit


def _report_of(query: str) -> str:
    """Return a query without what selects a page."""
    return urlencode([each for each in parse_qsl(query) if each[0] not in _PAGE])
