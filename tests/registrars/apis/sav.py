"""A fake of Sav's API, version 1.

Sav's document describes requests and errors. The responses of success are those that other clients read.
"""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, ClassVar

from starlette.responses import JSONResponse, Response

from builders.demo.registrars.fake import FakeDomain, FakeRegistrar, Fault, Given, Handler


class FakeSav(FakeRegistrar):
    """Sav: a key as header, all domains in one response, GET for changes too, times as seconds in texts."""

    credentials: ClassVar = {"api_key": "sav-demo-key"}
    headers: ClassVar = {"APIKEY": "{api_key}"}
    path = "/domains_api_v1"
    page_size = 20
    has_pages = shows_gaps = False
    missing = (400, "", "Could not find domain in your account.")
    has_holds = False
    failures: ClassVar = {
        Fault.BAD_KEY: (401, "", "API key is invalid or IP is not whitelisted."),
        Fault.RATE_LIMITED_SILENTLY: (429, "", "Too many requests."),
        Fault.REFUSED: (400, "", "The request is not valid."),
    }

    def routes(self) -> Mapping[str, Handler]:
        """Return the operations of the API."""
        return {
            "GET /get_active_domains_in_account": self._list_domains,
            "GET /update_domain_auto_renewal": self._switch_auto_renew,
        }

    def reply(self, content: Any) -> Response:
        """Return an envelope."""
        return JSONResponse({"auth_success": True, "request_success": True, "response": content})

    def fail(self, status: int, code: str, message: str) -> Response:
        """Return an error as an envelope without content."""
        del code
        is_known = status != HTTPStatus.UNAUTHORIZED
        body = {"auth_success": is_known, "request_success": False, "error_message": message}
        return JSONResponse(body, status_code=status)

    def _list_domains(self, _given: Given) -> Any:
        domains = self.account.domains
        rows = self.cut(domains, start=0, size=len(domains))
        return {"domain_count": len(domains), "domains": [_row(number, each) for number, each in enumerate(rows)]}

    def _switch_auto_renew(self, given: Given) -> Any:
        self.held(given["domain_name"]).auto_renew = given["enabled"] == "1"
        return {}


def _row(number: int, held: FakeDomain) -> dict[str, Any]:
    sld, _, tld = held.domain.partition(".")
    until = {} if held.expires_at is None else {"date_expiration": str(int(held.expires_at.timestamp()))}
    return {
        "domain_id": str(number),
        "domain_name": held.domain,
        "sld": sld,
        "tld": tld,
        "internal_status": held.state,
        **{f"ns_{place}": name for place, name in enumerate(held.nameservers, 1)},
        "whois_privacy_enabled": str(int(held.privacy)),
        "auto_renew_enabled": str(int(held.auto_renew)),
        "date_registered": str(int(held.created_at.timestamp())),
        **until,
    }
