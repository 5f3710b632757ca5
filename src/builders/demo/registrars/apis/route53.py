"""A fake of the Route 53 Domains API, which checks signatures (AWS Signature Version 4)."""

import hmac
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, time
from hashlib import sha256
from typing import Any, ClassVar

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from builders.demo.registrars.fake import FakeRegistrar, Fault, Given, Handler

_AUTHORIZATION = re.compile(
    r"AWS4-HMAC-SHA256 Credential=([^/]+)/(\d{8}/us-east-1/route53domains/aws4_request), "
    r"SignedHeaders=([a-z0-9;-]+), Signature=([0-9a-f]{64})"
)
_STATES = {"pending": "IN_PROGRESS", "completed": "SUCCESSFUL", "failed": "FAILED"}
_OPERATIONS = {
    "registration": "REGISTER_DOMAIN",
    "renewal": "RENEW_DOMAIN",
    "transfer": "TRANSFER_IN_DOMAIN",
    "redemption": "RESTORE_DOMAIN",
    "privacy": "CHANGE_PRIVACY_PROTECTION",
}


class FakeRoute53(FakeRegistrar):
    """Route 53: one path, signed JSON, pages by marker, prices as floats, a refund as a negative record."""

    credentials: ClassVar = {"access_key_id": "AKIADEMO", "secret_access_key": "demo-secret-access-key"}
    page_size = 100
    shows_gaps = False
    missing = (400, "InvalidInput", "The domain is not found in the account")
    failures: ClassVar = {
        Fault.BAD_KEY: (400, "UnrecognizedClientException", "The security token in the request is invalid."),
        Fault.RATE_LIMITED_SILENTLY: (400, "ThrottlingException", "Rate exceeded"),
        Fault.REFUSED: (400, "InvalidInput", "MaxItems is out of range"),
    }
    transfer_states = frozenset(_STATES)

    def routes(self) -> Mapping[str, Handler]:
        """Return the one route; a header names the operation."""
        return {"POST /": self._operate}

    def is_allowed(self, request: Request, given: Given, body: bytes) -> bool:
        """Return whether the signature is that of the customer's key."""
        del given
        found = _AUTHORIZATION.fullmatch(request.headers.get("Authorization", ""))
        if found is None or found[1] != self.credentials["access_key_id"]:
            return False
        _, scope, names, signature = found.groups()
        headers = "".join(f"{name}:{request.headers[name].strip()}\n" for name in names.split(";"))
        canonical = f"POST\n{request.url.path}\n\n{headers}\n{names}\n{sha256(body).hexdigest()}"
        digest = sha256(canonical.encode()).hexdigest()
        text = f"AWS4-HMAC-SHA256\n{request.headers['X-Amz-Date']}\n{scope}\n{digest}"
        secret = self.credentials["secret_access_key"]
        key = f"AWS4{secret}".encode()
        for part in scope.split("/"):
            key = hmac.digest(key, part.encode(), "sha256")
        return hmac.compare_digest(hmac.digest(key, text.encode(), "sha256").hex(), signature)

    def fail(self, status: int, code: str, message: str) -> Response:
        """Return an error as AWS writes it."""
        return JSONResponse({"__type": code, "message": message}, status_code=status)

    def _operate(self, given: Given) -> Any:
        operation = given["headers"]["X-Amz-Target"].rpartition(".")[2]
        if operation == "ListDomains":
            return self._page(
                "Domains",
                [
                    {
                        "DomainName": each.domain,
                        "AutoRenew": each.auto_renew,
                        "TransferLock": each.locked,
                        **({"Expiry": each.expires_at.timestamp()} if each.expires_at else {}),
                    }
                    for each in self.account.domains
                ],
                given,
            )
        if operation == "ViewBilling":
            return self._page("BillingRecords", self._bills(given), given)
        if operation == "ListOperations":
            return self._page(
                "Operations",
                [
                    {
                        "OperationId": "op-2",
                        "Status": _STATES[each.state],
                        "Type": "TRANSFER_OUT_DOMAIN" if each.direction == "out" else "TRANSFER_IN_DOMAIN",
                        "DomainName": each.domain,
                        "SubmittedDate": each.started_at.timestamp(),
                    }
                    for each in self.account.transfers
                ],
                given,
            )
        held = self.held(given["DomainName"])
        if operation == "RetrieveDomainAuthCode":
            return {"AuthCode": held.auth_code}
        held.auto_renew = operation == "EnableDomainAutoRenew"
        return {"OperationId": "op-1"}

    def _page(self, name: str, rows: Sequence[dict[str, Any]], given: Given) -> Any:
        start, size = int(given.get("Marker") or 0), self.limit(int(given.get("MaxItems") or 20))
        more = {"NextPageMarker": str(start + size)} if start + size < len(rows) else {}
        return {name: self.cut(rows, start=start, size=size), **more}

    def _bills(self, given: Given) -> list[dict[str, Any]]:
        rows = [
            {
                "DomainName": line.domains[0],
                "Operation": _OPERATIONS[line.operation],
                "InvoiceId": order.order_id,
                "BillDate": datetime.combine(order.charged_on, time(10), tzinfo=UTC).timestamp(),
                "Price": float(line.total),
            }
            for order in self.account.orders
            for line in order.lines
        ]
        return [row for row in rows if given["Start"] <= float(str(row["BillDate"])) < given["End"]]
