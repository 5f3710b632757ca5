"""A fake of Dynadot's REST API 2, which checks signatures."""

import hmac
from base64 import b64encode
from collections.abc import Sequence
from datetime import datetime
from typing import Any, ClassVar

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from builders.demo.registrars.fake import FakeDomain, FakeRegistrar, Fault

_ERRORS = {
    Fault.BAD_KEY: (401, "unauthorized", "The API key or the signature is not valid"),
    Fault.RATE_LIMITED_SILENTLY: (429, "too_many_requests", "Too many requests"),
    Fault.REFUSED: (200, "validation", "The request is not valid"),
}


class FakeDynadot(FakeRegistrar):
    """Dynadot: signed requests, numbered pages without a total, times in milliseconds, errors inside HTTP 200."""

    provider = "dynadot"
    credentials: ClassVar = {"api_key": "dd-demo-key", "api_secret": "dd-demo-secret"}
    page_size = 100
    faults = frozenset(Fault) - {Fault.RESTRICTED, Fault.IP_NOT_ALLOWED, Fault.RATE_LIMITED}

    def routes(self) -> Sequence[Route]:
        """Return the routes of the API."""
        domains = "/restful/v2/domains"
        return [
            Route(domains, self._list_domains),
            Route(f"{domains}/{{domain}}", self._get_domain),
            Route(f"{domains}/{{domain}}/transfer_auth_code", self._get_auth_code),
        ]

    async def is_allowed(self, request: Request) -> bool:
        """Return whether key and signature are the customer's."""
        key, secret = self.credentials["api_key"], self.credentials["api_secret"]
        path = request.url.path.removeprefix(request.scope["root_path"])
        path += f"?{request.url.query}" if request.url.query else ""
        signature = hmac.digest(secret.encode(), f"{key}\n{path}\n\n".encode(), "sha256")
        given = request.headers.get("Authorization"), request.headers.get("X-Signature")
        return given == (f"Bearer {key}", b64encode(signature).decode())

    def refuse(self, fault: Fault) -> Response:
        """Return an error as Dynadot writes it."""
        status, code, description = _ERRORS[fault]
        return _failed(status, code, description)

    def respond_without_content(self) -> Response:
        """Return an envelope without data."""
        return _data({})

    async def _list_domains(self, request: Request) -> Response:
        size, page = self.limit(int(request.query_params["page_size"])), int(request.query_params["page"])
        rows = self.cut(self.account.domains, start=(page - 1) * size, size=size)
        return _data({"domain_info_list": [_row(each) for each in rows]})

    async def _get_domain(self, request: Request) -> Response:
        held = self.find(request.path_params["domain"])
        return _not_found() if held is None else _data({"domain_info": [_row(held)]})

    async def _get_auth_code(self, request: Request) -> Response:
        held = self.find(request.path_params["domain"])
        return _not_found() if held is None else _data({"auth_code": held.auth_code})


def _data(data: dict[str, Any]) -> Response:
    return JSONResponse({"code": 200, "message": "Success", "data": data})


def _not_found() -> Response:
    return _failed(404, "not_found", "The domain is not in the account")


def _failed(status: int, code: str, description: str) -> Response:
    body = {"code": status, "message": "Error", "error": {"code": code, "description": description}}
    return JSONResponse(body, status_code=status)


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
