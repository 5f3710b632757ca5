"""A fake of Cloudflare's registrar API."""

from collections.abc import Sequence
from typing import Any, ClassVar

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from builders.demo.registrars.fake import WAIT_S, FakeDomain, FakeRegistrar, Fault

_STATUSES = {"active": "active", "expired": "expired", "redemption": "redemption_period"}
_STATES = {"pending": "in_progress", "completed": "succeeded", "failed": "failed", "cancelled": "failed"}
_ERRORS = {
    Fault.BAD_KEY: (403, 10000, "Authentication error"),
    Fault.RATE_LIMITED: (429, 971, "Please wait and consider throttling your request speed"),
    Fault.RATE_LIMITED_SILENTLY: (429, 971, "Please wait and consider throttling your request speed"),
    Fault.REFUSED: (200, 1004, "Validation error"),
}


class FakeCloudflare(FakeRegistrar):
    """Cloudflare: a bearer token, pages by cursor, an envelope with `success`."""

    provider = "cloudflare"
    credentials: ClassVar = {"api_token": "cf-demo-token", "account_id": "0123456789abcdef"}
    path = "/client/v4"
    page_size = 50
    faults = frozenset(Fault) - {Fault.RESTRICTED, Fault.IP_NOT_ALLOWED}
    transfer_states = frozenset({"pending", "completed", "failed"})

    def routes(self) -> Sequence[Route]:
        """Return the routes of the API."""
        registrations = f"{self.path}/accounts/{self.credentials['account_id']}/registrar/registrations"
        return [
            Route(registrations, self._list_domains),
            Route(f"{registrations}/{{domain}}/transfer-in", self._get_transfer),
        ]

    async def is_allowed(self, request: Request) -> bool:
        """Return whether the token is the customer's."""
        return request.headers.get("Authorization") == f"Bearer {self.credentials['api_token']}"

    def refuse(self, fault: Fault) -> Response:
        """Return an error as Cloudflare writes it."""
        status, code, message = _ERRORS[fault]
        headers = {"Retry-After": str(WAIT_S)} if fault is Fault.RATE_LIMITED else {}
        return _failed(status, code, message, headers)

    def respond_without_content(self) -> Response:
        """Return an envelope without a result."""
        return JSONResponse({"success": True, "errors": [], "messages": [], "result": None})

    async def _list_domains(self, request: Request) -> Response:
        start = int(request.query_params.get("cursor") or 0)
        size = self.limit(int(request.query_params.get("per_page") or self.page_size))
        end, total = start + size, len(self.account.domains)
        rows = [_row(each) for each in self.cut(self.account.domains, start=start, size=size)]
        info = {"cursor": str(end) if end < total else "", "count": min(end, total) - start}
        return JSONResponse({"success": True, "errors": [], "messages": [], "result": rows, "result_info": info})

    async def _get_transfer(self, request: Request) -> Response:
        name = request.path_params["domain"]
        for each in self.account.transfers:
            if each.domain == name and each.direction == "in":
                started = each.started_at.isoformat()
                result = {
                    "state": _STATES[each.state],
                    "completed": each.state != "pending",
                    "created_at": started,
                    "updated_at": started,
                    "error": None,
                }
                return JSONResponse({"success": True, "errors": [], "messages": [], "result": result})
        return _failed(404, 10001, "Not found")


def _failed(status: int, code: int, message: str, headers: dict[str, str] | None = None) -> Response:
    body = {"success": False, "errors": [{"code": code, "message": message}], "messages": [], "result": None}
    return JSONResponse(body, status_code=status, headers=headers)


def _row(held: FakeDomain) -> dict[str, Any]:
    return {
        "domain_name": held.domain,
        "created_at": held.created_at.isoformat(),
        "expires_at": held.expires_at.isoformat() if held.expires_at else None,
        "auto_renew": held.auto_renew,
        "locked": held.locked,
        "privacy_mode": "redaction" if held.privacy else "off",
        "status": _STATUSES[held.state],
    }
