"""A fake of the Route 53 Domains API, which checks signatures (AWS Signature Version 4).

After docs.aws.amazon.com/Route53/latest/APIReference.
"""

import hmac
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, time
from hashlib import sha256
from typing import Any, ClassVar

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from builders.demo.registrars.fake import FakeDomain, FakeRegistrar, FakeTransfer, Fault, Given, Handler, Refused

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
    has_holds = False
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
        return hmac.compare_digest(_sign(self.credentials["secret_access_key"], scope, text), signature)

    def fail(self, status: int, code: str, message: str) -> Response:
        """Return an error as AWS writes it."""
        return JSONResponse({"__type": code, "message": message}, status_code=status)

    def _operate(self, given: Given) -> Any:
        operation = given["headers"]["X-Amz-Target"].rpartition(".")[2]
        if operation == "ListDomains":
            return self._page("Domains", [_row(each) for each in self.account.domains], given)
        if operation == "ViewBilling":
            return self._page("BillingRecords", self._bills(given), given)
        if operation == "ListOperations":
            return self._page("Operations", [_operation(each) for each in self.account.transfers], given)
        if operation == "ListPrices":
            return self._page("Prices", [_price(each) for each in self.account.domains[:1]], given, most=1000)
        held = self.held(given["DomainName"])
        if operation == "RetrieveDomainAuthCode":
            return {"AuthCode": held.auth_code}
        held.auto_renew = operation == "EnableDomainAutoRenew"
        return {"OperationId": "op-1"}

    def _page(self, name: str, rows: Sequence[dict[str, Any]], given: Given, *, most: int = 100) -> Any:
        start, asked = int(given.get("Marker") or 0), int(given.get("MaxItems") or 20)
        if asked > most:
            raise Refused
        size = self.limit(asked)
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


def _sign(secret: str, scope: str, text: str) -> str:
    key = f"AWS4{secret}".encode()
    for part in scope.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    return hmac.digest(key, text.encode(), "sha256").hex()


def _price(held: FakeDomain) -> dict[str, Any]:
    renewal = {"Price": float(held.renewal_price), "Currency": "USD"}
    return {"Name": held.domain.partition(".")[2], "RenewalPrice": renewal, "RegistrationPrice": renewal}


def _row(held: FakeDomain) -> dict[str, Any]:
    return {
        "DomainName": held.domain,
        "AutoRenew": held.auto_renew,
        "TransferLock": held.locked,
        **({"Expiry": held.expires_at.timestamp()} if held.expires_at else {}),
    }


def _operation(transfer: FakeTransfer) -> dict[str, Any]:
    return {
        "OperationId": "op-2",
        "Status": _STATES[transfer.state],
        "Type": "TRANSFER_OUT_DOMAIN" if transfer.direction == "out" else "TRANSFER_IN_DOMAIN",
        "DomainName": transfer.domain,
        "SubmittedDate": transfer.started_at.timestamp(),
    }
