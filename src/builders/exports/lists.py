"""The parts of exports: what the operations of the API that list and need no id return to the caller.

An operation that is added is a part, unless it is named here (decision 0066).
"""

import json
from collections.abc import Mapping, Sequence
from functools import cache
from http import HTTPStatus
from types import MappingProxyType, SimpleNamespace
from typing import Any, NamedTuple
from urllib.parse import urlencode

from fastapi import Request
from fastapi.dependencies.utils import get_flat_params

import builders
from builders.exports import tables
from builders.kit.callers import Caller
from builders.kit.db.account_tables import AccountTable
from builders.kit.db.connections import Database
from builders.kit.errors import Invalid, Problem
from builders.kit.http.callers import CALLER
from builders.kit.http.media_types import JSON
from builders.kit.http.routes import Route, Router
from builders.kit.process.discovery import load_modules
from builders.kit.process.secret_keys import Keyring
from builders.kit.process.settings import Settings

# What an export does not hold whatever the credentials read, with the reason.
_NOT_HELD: Mapping[str, str] = {
    "never": """
        account_list_audit aliases_get_attachment aliases_get_message aliases_list_correspondents
        aliases_list_mail aliases_list_messages auth_get_session auth_list_connection_requests
        auth_list_connections auth_list_sessions
    """,
    "computed": """
        api_keys_list_scopes domains_list_claimable portfolio_export_parking
        portfolio_export_portfolio portfolio_export_portfolio_csv portfolio_get_portfolio_summary
        portfolio_list_billing_templates portfolio_list_webhook_events portfolio_read_exchange_rates
        portfolio_reconcile_registrars portfolio_show_team_invite profile_get_verification
        sandbox_get_status webhooks_list_events
    """,
    "single": """
        aliases_get_reception invoices_get_invoice invoices_get_invoice_pdf
        portfolio_get_domain_finance portfolio_get_portfolio_import portfolio_get_registrar_run
        portfolio_get_transfer portfolio_list_history sandbox_get_plan sandbox_get_promotion
        webhooks_get_delivery
    """,
}
LEFT_OUT = {name: reason for reason, names in _NOT_HELD.items() for name in names.split()}
# What the person's complete export has besides: whatever needs neither an id nor the person at the moment. All
# else is in its tables.
COMPLETE = frozenset(("account_list_audit", "auth_list_connections", "auth_list_sessions"))
LEFT_OUT_OF_COMPLETE = dict.fromkeys(_NOT_HELD["computed"].split(), "computed") | {
    f"{tables.PREFIX}{name}": reason for name, reason in tables.LEFT_OUT.items()
}
# Parameters of a list that holds less by default.
_QUERY: Mapping[str, Mapping[str, str]] = {
    "portfolio_get_parking": {"days": "365"},
    "portfolio_list_renewals": {"within_days": "365"},
    "projects_list_projects": {"include_archived": "true"},
}


class Listed(NamedTuple):
    """What a page of a part holds, or why the caller cannot read it."""

    items: Sequence[Any] = ()  # JSON
    next_cursor: str | None = None
    refusal: str | None = None  # a code
    left_out: Mapping[str, str] = MappingProxyType({})  # columns of a table, with the reason


@cache
def routes() -> Mapping[str, Route]:
    """Return the routes of the parts by operation id, in their order. The first call imports all handlers: 2 s."""
    routers = [
        router
        for module in load_modules(builders, "api").values()
        for router in vars(module).values()
        if isinstance(router, Router)
    ]
    found = {each.unique_id: each for router in routers for each in router.routes if isinstance(each, Route)}
    return {
        name: found[name] for name in sorted(found.keys() - (LEFT_OUT.keys() - COMPLETE)) if _is_part(found[name])
    }


def _is_part(route: Route) -> bool:
    return "GET" in (route.methods or ()) and route.compiled.needs is not None and "{" not in route.path


class Reader:
    """Reads parts within the process, as a caller."""

    def __init__(self, database: Database, *, keyring: Keyring, settings: Settings) -> None:
        self.database, self.keyring = database, keyring
        state = SimpleNamespace(database=database, keyring=keyring, settings=settings, loop=None)
        state.feed_waiters = None  # nothing waits here
        self._app = SimpleNamespace(state=state)
        self._tables: Mapping[str, AccountTable] = {}

    async def find_next(self, part: str, *, is_complete: bool) -> str | None:
        """Return the name of the part after this one; None after the last."""
        names = routes().keys() | (await self._load_tables()).keys() if is_complete else routes().keys() - COMPLETE
        return min((name for name in names if name > part), default=None)

    async def read(self, name: str, caller: Caller, *, cursor: str | None, limit: int) -> Listed:
        """Return the page of a part at a cursor. What is no list is one item."""
        if name.startswith(tables.PREFIX):
            return await self._read_table(name, caller, cursor=cursor, limit=limit)
        route = routes()[name]
        query = dict(_QUERY.get(name, {}))
        if any(each.alias == "cursor" for each in get_flat_params(route.dependant)):
            query |= {"limit": str(limit)} | ({"cursor": cursor} if cursor is not None else {})
        request = Request(
            {
                "type": "http",
                "method": "GET",
                "path": route.path,
                "path_params": {},
                "query_string": urlencode(query).encode(),
                "headers": [(b"accept", JSON.encode())],
                "app": self._app,
                "account_id": caller.account_id,
                CALLER: caller,
            }
        )
        try:
            if route.compiled.needs is not None:
                route.compiled.needs.require_allowed(caller)
            answer = await route.compiled.run_handler(request, caller)
        except Problem as refusal:
            if refusal.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
                raise
            return Listed(refusal=refusal.code)
        except Invalid as refusal:
            return Listed(refusal=refusal.code)
        body = json.loads(bytes(answer.body))
        items = body.get("items")
        return Listed([body] if items is None else items, body.get("next_cursor"))

    async def _read_table(self, name: str, caller: Caller, *, cursor: str | None, limit: int) -> Listed:
        table = (await self._load_tables())[name]
        rows, following = await tables.read(
            self.database,
            keyring=self.keyring,
            table=table,
            account_id=caller.live_account_id,
            cursor=cursor,
            limit=limit,
        )
        return Listed(rows, following, left_out=tables.left_out_of(table))

    async def _load_tables(self) -> Mapping[str, AccountTable]:
        if not self._tables:
            async with self.database.connection() as conn:
                self._tables = await tables.load(conn)
        return self._tables
