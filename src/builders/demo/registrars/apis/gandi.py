"""A fake of Gandi's API v5."""

from collections.abc import Mapping
from typing import Any, ClassVar

from starlette.responses import JSONResponse

from builders.demo.registrars.fake import FakeDomain, FakeRegistrar, Fault, Given, Handler

_STATUSES = {"active": [], "expired": [], "redemption": ["redemptionPeriod"], "leaving": ["pendingTransfer"]}


class FakeGandi(FakeRegistrar):
    """Gandi: a bearer token, numbered pages with the total in a header.

    Auto-renew is a boolean in the list and an object in the details.
    """

    credentials: ClassVar = {"token": "gandi-demo-token"}
    headers: ClassVar = {"Authorization": "Bearer {token}"}
    path = "/v5"
    page_size = 500
    missing = (404, "404", "The resource could not be found.")
    failures: ClassVar = {
        Fault.BAD_KEY: (401, "401", "The server could not verify that you authorized to access the document."),
        Fault.RATE_LIMITED: (429, "429", "Too many requests"),
        Fault.RATE_LIMITED_SILENTLY: (429, "429", "Too many requests"),
        Fault.REFUSED: (400, "400", "per_page is out of range"),
    }

    def routes(self) -> Mapping[str, Handler]:
        """Return the operations of the API."""
        return {"GET /domain/domains": self._list_domains, "GET /domain/domains/{domain}": self._get_domain}

    def _list_domains(self, given: Given) -> Any:
        rows = self.page(int(given["page"]), int(given["per_page"]))
        headers = {"Total-Count": str(len(self.account.domains))}
        return JSONResponse([{**_row(each), "autorenew": each.auto_renew} for each in rows], headers=headers)

    def _get_domain(self, given: Given) -> Any:
        held = self.held(given["domain"])
        return {**_row(held), "autorenew": {"enabled": held.auto_renew}, "authinfo": held.auth_code}


def _row(held: FakeDomain) -> dict[str, Any]:
    locks = ["clientTransferProhibited"] if held.locked else []
    return {
        "fqdn": held.domain,
        "status": [*locks, *_STATUSES[held.state]],
        "dates": {"registry_created_at": held.created_at.isoformat(), **held.until("registry_ends_at")},
        "nameserver": {"current": "abc", "hosts": list(held.nameservers)},
    }
