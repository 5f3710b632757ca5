"""A fake of Spaceship's API."""

from collections.abc import Sequence
from typing import Any, ClassVar

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from builders.demo.registrars.fake import WAIT_S, FakeDomain, FakeRegistrar, Fault

_STATUSES = {"active": "registered", "expired": "grace1", "redemption": "redemption"}
_ERRORS = {
    Fault.BAD_KEY: (401, "Authentication required"),
    Fault.RATE_LIMITED: (429, "Too many requests"),
    Fault.RATE_LIMITED_SILENTLY: (429, "Too many requests"),
    Fault.REFUSED: (422, "Unprocessable entity"),
}


class FakeSpaceship(FakeRegistrar):
    """Spaceship: key and secret as headers, pages by take and skip, locks as EPP statuses."""

    provider = "spaceship"
    credentials: ClassVar = {"api_key": "ss-demo-key", "api_secret": "ss-demo-secret"}
    path = "/api/v1"
    page_size = 100
    faults = frozenset(Fault) - {Fault.RESTRICTED, Fault.IP_NOT_ALLOWED}
    transfer_states = frozenset({"pending", "completed", "cancelled"})

    def routes(self) -> Sequence[Route]:
        """Return the routes of the API."""
        domain = f"{self.path}/domains/{{domain}}"
        return [
            Route(f"{self.path}/domains", self._list_domains),
            Route(domain, self._get_domain),
            Route(f"{domain}/autorenew", self._switch_auto_renew, methods=["PUT"]),
            Route(f"{domain}/transfer", self._get_transfer),
            Route(f"{domain}/transfer/auth-code", self._get_auth_code),
        ]

    async def is_allowed(self, request: Request) -> bool:
        """Return whether both headers are the customer's."""
        given = request.headers.get("X-Api-Key"), request.headers.get("X-Api-Secret")
        return given == (self.credentials["api_key"], self.credentials["api_secret"])

    def refuse(self, fault: Fault) -> Response:
        """Return an error as Spaceship writes it."""
        status, detail = _ERRORS[fault]
        headers = {"Retry-After": str(WAIT_S)} if fault is Fault.RATE_LIMITED else {}
        return JSONResponse({"detail": detail}, status_code=status, headers=headers)

    async def _list_domains(self, request: Request) -> Response:
        take, skip = self.limit(int(request.query_params["take"])), int(request.query_params["skip"])
        rows = [_row(each) for each in self.cut(self.account.domains, start=skip, size=take)]
        return JSONResponse({"items": rows, "total": len(self.account.domains)})

    async def _get_domain(self, request: Request) -> Response:
        held = self.find(request.path_params["domain"])
        return _not_found() if held is None else JSONResponse(_row(held))

    async def _switch_auto_renew(self, request: Request) -> Response:
        held = self.find(request.path_params["domain"])
        if held is None:
            return _not_found()
        held.auto_renew = bool((await request.json())["isEnabled"])
        return Response(status_code=204)

    async def _get_transfer(self, request: Request) -> Response:
        for each in self.account.transfers:
            if each.domain == request.path_params["domain"]:
                started = each.started_at.isoformat()
                finished = None if each.state == "pending" else started
                body = {"startedAt": started, "finishedAt": finished, "direction": each.direction}
                return JSONResponse({**body, "status": each.state})
        return _not_found()

    async def _get_auth_code(self, request: Request) -> Response:
        held = self.find(request.path_params["domain"])
        if held is None:
            return _not_found()
        return JSONResponse({"authCode": held.auth_code, "expires": "2027-01-01T00:00:00Z"})


def _not_found() -> Response:
    return JSONResponse({"detail": "Domain not found"}, status_code=404)


def _row(held: FakeDomain) -> dict[str, Any]:
    return {
        "name": held.domain,
        "unicodeName": held.domain,
        "autoRenew": held.auto_renew,
        "registrationDate": held.created_at.isoformat(),
        "expirationDate": held.expires_at.isoformat() if held.expires_at else None,
        "lifecycleStatus": _STATUSES[held.state],
        "eppStatuses": ["clientTransferProhibited"] if held.locked else [],
        "privacyProtection": {"level": "high" if held.privacy else "public"},
    }
