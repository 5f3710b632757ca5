"""A fake of Spaceship's API."""

from collections.abc import Mapping
from typing import Any, ClassVar

from starlette.responses import JSONResponse, Response

from builders.demo.registrars.fake import FakeDomain, FakeRegistrar, Fault, Given, Handler, Missing

_STATUSES = {"active": "registered", "suspended": "registered", "expired": "grace1", "redemption": "redemption"}


class FakeSpaceship(FakeRegistrar):
    """Spaceship: key and secret as headers, pages by take and skip, locks as EPP statuses.

    A change that takes long has an operation, which the header of a response with 202 names.
    """

    credentials: ClassVar = {"api_key": "ss-demo-key", "api_secret": "ss-demo-secret"}
    headers: ClassVar = {"X-Api-Key": "{api_key}", "X-Api-Secret": "{api_secret}"}
    path = "/api/v1"
    page_size = most_asked = 100
    missing = (404, "", "Domain not found")
    failures: ClassVar = {
        Fault.BAD_KEY: (401, "", "Authentication required"),
        Fault.RATE_LIMITED: (429, "", "Too many requests"),
        Fault.RATE_LIMITED_SILENTLY: (429, "", "Too many requests"),
        Fault.REFUSED: (422, "", "Unprocessable entity"),
    }
    transfer_states = frozenset({"pending", "completed", "cancelled"})
    operation: str | None = None  # the state of the operation of a change; None: changes take no time

    def routes(self) -> Mapping[str, Handler]:
        """Return the operations of the API."""
        return {
            "GET /domains": self._list_domains,
            "GET /domains/{domain}": lambda given: _row(self.held(given["domain"])),
            "PUT /domains/{domain}/autorenew": self._switch_auto_renew,
            "GET /async-operations/{operation}": self._get_operation,
            "GET /domains/{domain}/transfer": self._get_transfer,
            "GET /domains/{domain}/transfer/auth-code": self._get_auth_code,
        }

    def fail(self, status: int, code: str, message: str) -> Response:
        """Return an error without a code."""
        del code
        headers = {"spaceship-error-code": f"{status}00"}
        media_type = "application/problem+json"
        return JSONResponse({"detail": message}, status_code=status, headers=headers, media_type=media_type)

    def _list_domains(self, given: Given) -> Any:
        rows = self.cut(self.account.domains, start=int(given["skip"]), size=self.limit(int(given["take"])))
        return {"items": [_row(each) for each in rows], "total": len(self.account.domains)}

    def _switch_auto_renew(self, given: Given) -> Any:
        held = self.held(given["domain"])
        if self.operation == "failed":
            return Response(status_code=202, headers={"spaceship-async-operationid": "demo1"})
        held.auto_renew = given["isEnabled"]
        if self.operation is None:
            return Response(status_code=204)
        return Response(status_code=202, headers={"spaceship-async-operationid": "demo1"})

    def _get_operation(self, given: Given) -> Any:
        if given["operation"] != "demo1":
            raise Missing
        return {"status": self.operation, "type": "domains_Update", "createdAt": "2026-11-22T12:00:00.000Z"}

    def _get_transfer(self, given: Given) -> Any:
        transfer = self.transfer(given["domain"])
        started = transfer.started_at.isoformat()
        finished = None if transfer.state == "pending" else started
        return {
            "startedAt": started,
            "finishedAt": finished,
            "direction": transfer.direction,
            "status": transfer.state,
        }

    def _get_auth_code(self, given: Given) -> Any:
        return {"authCode": self.held(given["domain"]).auth_code, "expires": "2027-01-01T00:00:00Z"}


def _row(held: FakeDomain) -> dict[str, Any]:
    is_held = held.state == "suspended"
    return {
        "name": held.domain,
        "unicodeName": held.domain,
        "autoRenew": held.auto_renew,
        "registrationDate": held.created_at.isoformat(),
        **held.until("expirationDate"),
        "lifecycleStatus": _STATUSES[held.state],
        "eppStatuses": ["clientTransferProhibited"] * held.locked + ["clientHold"] * is_held,
        "suspensions": [{"reasonCode": "raaVerification"}] * is_held,
        "privacyProtection": {"level": "high" if held.privacy else "public"},
    }
