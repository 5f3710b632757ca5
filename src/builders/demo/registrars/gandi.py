"""A fake of Gandi's API v5."""

from collections.abc import Sequence
from typing import Any, ClassVar

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from builders.demo.registrars.fake import WAIT_S, FakeDomain, FakeRegistrar, Fault

_ERRORS = {
    Fault.BAD_KEY: (401, "The server could not verify that you authorized to access the document you requested."),
    Fault.RATE_LIMITED: (429, "Too many requests"),
    Fault.RATE_LIMITED_SILENTLY: (429, "Too many requests"),
    Fault.REFUSED: (400, "per_page is out of range"),
}
_STATUSES = {"active": [], "expired": [], "redemption": ["redemptionPeriod"], "leaving": ["pendingTransfer"]}


class FakeGandi(FakeRegistrar):
    """Gandi: a bearer token, numbered pages with the total in a header.

    Auto-renew is a boolean in the list and an object in the details.
    """

    provider = "gandi"
    credentials: ClassVar = {"token": "gandi-demo-token"}
    path = "/v5"
    page_size = 500
    faults = frozenset(Fault) - {Fault.RESTRICTED, Fault.IP_NOT_ALLOWED}

    def routes(self) -> Sequence[Route]:
        """Return the routes of the API."""
        return [
            Route(f"{self.path}/domain/domains", self._list_domains),
            Route(f"{self.path}/domain/domains/{{domain}}", self._get_domain),
        ]

    async def is_allowed(self, request: Request) -> bool:
        """Return whether the token is the customer's."""
        return request.headers.get("Authorization") == f"Bearer {self.credentials['token']}"

    def refuse(self, fault: Fault) -> Response:
        """Return an error as Gandi writes it."""
        status, message = _ERRORS[fault]
        headers = {"Retry-After": str(WAIT_S)} if fault is Fault.RATE_LIMITED else {}
        return JSONResponse({"code": status, "message": message}, status_code=status, headers=headers)

    async def _list_domains(self, request: Request) -> Response:
        size, page = self.limit(int(request.query_params["per_page"])), int(request.query_params["page"])
        rows = self.cut(self.account.domains, start=(page - 1) * size, size=size)
        headers = {"Total-Count": str(len(self.account.domains))}
        return JSONResponse([{**_row(each), "autorenew": each.auto_renew} for each in rows], headers=headers)

    async def _get_domain(self, request: Request) -> Response:
        held = self.find(request.path_params["domain"])
        if held is None:
            return JSONResponse({"code": 404, "message": "The resource could not be found."}, status_code=404)
        detail = {"autorenew": {"enabled": held.auto_renew}, "authinfo": held.auth_code}
        return JSONResponse({**_row(held), **detail})


def _row(held: FakeDomain) -> dict[str, Any]:
    locks = ["clientTransferProhibited"] if held.locked else []
    return {
        "fqdn": held.domain,
        "status": [*locks, *_STATUSES[held.state]],
        "dates": {
            "registry_created_at": held.created_at.isoformat(),
            "registry_ends_at": held.expires_at.isoformat() if held.expires_at else None,
        },
        "nameserver": {"current": "abc", "hosts": list(held.nameservers)},
    }
