"""A fake of Porkbun's API v3."""

from collections.abc import Sequence
from typing import Any, ClassVar

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from builders.demo.registrars.fake import WAIT_S, FakeDomain, FakeRegistrar, FakeTransfer, Fault

_TIME = "%Y-%m-%d %H:%M:%S"
_STATES = {"pending": "PENDINGTRANSFER", "completed": "DONE", "cancelled": "CANCELED", "failed": "CANCELED"}
_ERRORS = {
    Fault.BAD_KEY: (400, "INVALID_API_KEYS_001", "Invalid API key."),
    Fault.RATE_LIMITED: (429, "RATE_LIMIT_EXCEEDED", "Rate limit exceeded."),
    Fault.RATE_LIMITED_SILENTLY: (429, "RATE_LIMIT_EXCEEDED", "Rate limit exceeded."),
    Fault.REFUSED: (200, "INVALID_START", "The start is not valid."),
}


class FakePorkbun(FakeRegistrar):
    """Porkbun: keys in the body, pages of 1,000, flags as text or number, errors also with HTTP 200."""

    provider = "porkbun"
    credentials: ClassVar = {"api_key": "pk1_demo", "secret_api_key": "sk1_demo"}
    path = "/api/json/v3"
    page_size = 1000
    faults = frozenset(Fault) - {Fault.RESTRICTED, Fault.IP_NOT_ALLOWED}
    transfer_states = frozenset({"pending", "completed", "cancelled"})

    def routes(self) -> Sequence[Route]:
        """Return the routes of the API."""
        return [
            Route(f"{self.path}/domain/listAll", self._list_domains, methods=["POST"]),
            Route(f"{self.path}/domain/listTransfers", self._list_transfers, methods=["POST"]),
        ]

    async def is_allowed(self, request: Request) -> bool:
        """Return whether both keys are in the body."""
        body = await request.json()
        keys = self.credentials["api_key"], self.credentials["secret_api_key"]
        return (body.get("apikey"), body.get("secretapikey")) == keys

    def refuse(self, fault: Fault) -> Response:
        """Return an error as Porkbun writes it."""
        status, code, message = _ERRORS[fault]
        body = {"status": "ERROR", "code": code, "message": message, "requestId": "req-1"}
        if fault is Fault.RATE_LIMITED:
            body |= {"ttlRemaining": str(WAIT_S)}
            return JSONResponse(body, status_code=status, headers={"Retry-After": str(WAIT_S)})
        return JSONResponse(body, status_code=status)

    def respond_without_content(self) -> Response:
        """Return a status alone."""
        return JSONResponse({"status": "SUCCESS"})

    async def _list_domains(self, request: Request) -> Response:
        start = int((await request.json()).get("start") or 0)
        rows = self.cut(self.account.domains, start=start, size=self.limit(self.page_size))
        return JSONResponse({"status": "SUCCESS", "count": len(rows), "domains": [_row(each) for each in rows]})

    async def _list_transfers(self, _request: Request) -> Response:
        rows = [_transfer(each) for each in self.account.transfers if each.direction == "in"]
        return JSONResponse({"status": "SUCCESS", "transfers": rows})


def _row(held: FakeDomain) -> dict[str, Any]:
    return {
        "domain": held.domain,
        "status": held.state.upper(),
        "tld": held.domain.rpartition(".")[2],
        "createDate": held.created_at.strftime(_TIME),
        "expireDate": held.expires_at.strftime(_TIME) if held.expires_at else None,
        "securityLock": "1" if held.locked else "0",
        "whoisPrivacy": "1" if held.privacy else "0",
        "autoRenew": int(held.auto_renew),
        "apiAccess": 1,
        "notLocal": 0,
    }


def _transfer(transfer: FakeTransfer) -> dict[str, Any]:
    return {
        "domain": transfer.domain,
        "status": _STATES[transfer.state],
        "statusDescription": "Transfer at the registry.",
        "transferDate": transfer.started_at.strftime(_TIME),
        "orderId": 1,
    }
