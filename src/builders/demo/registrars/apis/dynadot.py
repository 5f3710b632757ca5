"""A fake of Dynadot's REST API 2, which checks signatures."""

import hmac
from base64 import b64encode
from collections.abc import Mapping
from datetime import datetime
from typing import Any, ClassVar

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from builders.demo.registrars.fake import FakeDomain, FakeRegistrar, Fault, Given, Handler


class FakeDynadot(FakeRegistrar):
    """Dynadot: signed requests, numbered pages without a total, times in milliseconds, errors inside HTTP 200."""

    credentials: ClassVar = {"api_key": "dd-demo-key", "api_secret": "dd-demo-secret"}
    page_size = 100
    shows_gaps = False
    missing = (404, "not_found", "The domain is not in the account")
    failures: ClassVar = {
        Fault.BAD_KEY: (401, "unauthorized", "The API key or the signature is not valid"),
        Fault.RATE_LIMITED_SILENTLY: (429, "too_many_requests", "Too many requests"),
        Fault.REFUSED: (200, "validation", "The request is not valid"),
    }

    def routes(self) -> Mapping[str, Handler]:
        """Return the operations of the API."""
        domains = "GET /restful/v2/domains"
        return {
            domains: self._list_domains,
            f"{domains}/{{domain}}": lambda given: {"domain_info": [_row(self.held(given["domain"]))]},
            f"{domains}/{{domain}}/transfer_auth_code": self._get_auth_code,
        }

    def is_allowed(self, request: Request, given: Given, body: bytes) -> bool:
        """Return whether key and signature are the customer's."""
        del given, body
        key, secret = self.credentials["api_key"], self.credentials["api_secret"]
        path = request.url.path.removeprefix(request.scope["root_path"])
        path += f"?{request.url.query}" if request.url.query else ""
        signature = hmac.digest(secret.encode(), f"{key}\n{path}\n\n".encode(), "sha256")
        sent = request.headers.get("Authorization"), request.headers.get("X-Signature")
        return sent == (f"Bearer {key}", b64encode(signature).decode())

    def reply(self, content: Any) -> Response:
        """Return an envelope."""
        return JSONResponse({"code": 200, "message": "Success", "data": content})

    def fail(self, status: int, code: str, message: str) -> Response:
        """Return an envelope with the error."""
        body = {"code": status, "message": "Error", "error": {"code": code, "description": message}}
        return JSONResponse(body, status_code=status)

    def _list_domains(self, given: Given) -> Any:
        rows = self.page(int(given["page"]), int(given["page_size"]))
        return {"domain_info_list": [_row(each) for each in rows]}

    def _get_auth_code(self, given: Given) -> Any:
        return {"auth_code": self.held(given["domain"]).auth_code}


def _millis(time: datetime) -> int:
    return int(time.timestamp() * 1000)


def _row(held: FakeDomain) -> dict[str, Any]:
    return {
        "domain_name": held.domain,
        "registration_date": _millis(held.created_at),
        "expiration_date": _millis(held.expires_at) if held.expires_at else None,
        "locked": "Yes" if held.locked else "No",
        "privacy": "Full Privacy" if held.privacy else "Privacy Off",
        "renew_option": "auto-renew" if held.auto_renew else "no renew option",
        "status": held.state,
        "glue_info": {"nameserver_list": [{"server_name": each} for each in held.nameservers]},
    }
