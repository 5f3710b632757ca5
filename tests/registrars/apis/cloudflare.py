"""A fake of Cloudflare's registrar API."""

from collections.abc import Mapping
from typing import Any, ClassVar

from starlette.responses import JSONResponse, Response

from builders.demo.registrars.fake import FakeRegistrar, Fault, Given, Handler

_STATUSES = {"active": "active", "expired": "expired", "redemption": "redemption_period"} | {
    "suspended": "suspended"
}
_STATES = {"pending": "in_progress", "completed": "succeeded", "failed": "failed", "cancelled": "failed"}
_TOO_MANY = (429, "971", "Please wait and consider throttling your request speed")


class FakeCloudflare(FakeRegistrar):
    """Cloudflare: a bearer token, pages by cursor, an envelope with `success`."""

    credentials: ClassVar = {"api_token": "cf-demo-token", "account_id": "0123456789abcdef"}
    headers: ClassVar = {"Authorization": "Bearer {api_token}"}
    path = f"/client/v4/accounts/{credentials['account_id']}/registrar"
    page_size = 50
    missing = (404, "10001", "Not found")
    failures: ClassVar = {
        Fault.BAD_KEY: (403, "10000", "Authentication error"),
        Fault.RATE_LIMITED: _TOO_MANY,
        Fault.RATE_LIMITED_SILENTLY: _TOO_MANY,
        Fault.REFUSED: (200, "1004", "Validation error"),
    }
    transfer_states = frozenset({"pending", "completed", "failed"})
    state = "succeeded"  # of the workflow of a change

    def routes(self) -> Mapping[str, Handler]:
        """Return the operations of the API."""
        return {
            "GET /registrations": self._list_domains,
            "GET /registrations/{domain}/transfer-in": self._get_transfer,
            "GET /registrations/{domain}/update-status": lambda _: self._workflow(),
            "PATCH /registrations/{domain}": self._switch_auto_renew,
        }

    def reply(self, content: Any) -> Response:
        """Return an envelope."""
        return JSONResponse({"success": True, "errors": [], "messages": [], "result": None, **content})

    def fail(self, status: int, code: str, message: str) -> Response:
        """Return an envelope with the error."""
        errors = [{"code": int(code), "message": message}]
        body = {"success": False, "errors": errors, "messages": [], "result": None}
        return JSONResponse(body, status_code=status)

    def _list_domains(self, given: Given) -> Any:
        start, size = int(given.get("cursor") or 0), self.limit(int(given.get("per_page") or self.page_size))
        end, total = start + size, len(self.account.domains)
        rows = [
            {
                "domain_name": each.domain,
                "created_at": each.created_at.isoformat(),
                **each.until("expires_at"),
                "auto_renew": each.auto_renew,
                "locked": each.locked,
                "privacy_mode": "redaction" if each.privacy else "off",
                "status": _STATUSES[each.state],
            }
            for each in self.cut(self.account.domains, start=start, size=size)
        ]
        info = {"cursor": str(end) if end < total else "", "count": min(end, total) - start}
        return {"result": rows, "result_info": info}

    def _switch_auto_renew(self, given: Given) -> Any:
        """Make a change, or accept it; of the settings only auto-renew can be changed."""
        self.held(given["domain"]).auto_renew = given["auto_renew"]
        status = 200 if self.state == "succeeded" else 202
        body = {"success": True, "errors": [], "messages": [], **self._workflow()}
        return JSONResponse(body, status_code=status)

    def _workflow(self) -> dict[str, Any]:
        error = {"code": "registry_error", "message": "The registry refused."} if self.state == "failed" else None
        done = self.state in {"succeeded", "failed"}
        return {
            "result": {
                "state": self.state,
                "completed": done,
                "created_at": "2026-11-22T12:00:00Z",
                "error": error,
            }
        }

    def _get_transfer(self, given: Given) -> Any:
        transfer = self.transfer(given["domain"])
        started = transfer.started_at.isoformat()
        result = {
            "state": _STATES[transfer.state],
            "completed": transfer.state != "pending",
            "created_at": started,
            "updated_at": started,
            "error": None,
        }
        return {"result": result}
