"""A fake of the Route 53 Domains API, which checks signatures (AWS Signature Version 4)."""

import hmac
import re
from collections.abc import Sequence
from datetime import UTC, datetime, time
from hashlib import sha256
from typing import Any, ClassVar

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from builders.demo.registrars.fake import FakeDomain, FakeRegistrar, FakeTransfer, Fault

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
_ERRORS = {
    Fault.BAD_KEY: ("UnrecognizedClientException", "The security token included in the request is invalid."),
    Fault.RATE_LIMITED_SILENTLY: ("ThrottlingException", "Rate exceeded"),
    Fault.REFUSED: ("InvalidInput", "MaxItems is out of range"),
}


class FakeRoute53(FakeRegistrar):
    """Route 53: one path, signed JSON, pages by marker, prices as floats, a refund as a negative record."""

    provider = "route53"
    credentials: ClassVar = {"access_key_id": "AKIADEMO", "secret_access_key": "demo-secret-access-key"}
    page_size = 100
    faults = frozenset(Fault) - {Fault.RESTRICTED, Fault.IP_NOT_ALLOWED, Fault.RATE_LIMITED}
    transfer_states = frozenset(_STATES)

    def routes(self) -> Sequence[Route]:
        """Return the one route; a header names the operation."""
        return [Route("/", self._respond, methods=["POST"])]

    async def is_allowed(self, request: Request) -> bool:
        """Return whether the signature is that of the customer's key."""
        found = _AUTHORIZATION.fullmatch(request.headers.get("Authorization", ""))
        if found is None or found[1] != self.credentials["access_key_id"]:
            return False
        _, scope, names, signature = found.groups()
        headers = "".join(f"{name}:{request.headers[name].strip()}\n" for name in names.split(";"))
        body = sha256(await request.body()).hexdigest()
        canonical = f"POST\n{request.url.path}\n\n{headers}\n{names}\n{body}"
        digest = sha256(canonical.encode()).hexdigest()
        text = f"AWS4-HMAC-SHA256\n{request.headers['X-Amz-Date']}\n{scope}\n{digest}"
        return hmac.compare_digest(_sign(self.credentials["secret_access_key"], scope, text), signature)

    def refuse(self, fault: Fault) -> Response:
        """Return an error as AWS writes it."""
        return _failed(*_ERRORS[fault])

    async def _respond(self, request: Request) -> Response:
        operation = request.headers["X-Amz-Target"].rpartition(".")[2]
        members = await request.json()
        if operation == "ListDomains":
            return self._page("Domains", [_row(each) for each in self.account.domains], members)
        if operation == "ViewBilling":
            return self._page("BillingRecords", self._bills(members), members)
        if operation == "ListOperations":
            return self._page("Operations", [_operation(each) for each in self.account.transfers], members)
        held = self.find(members["DomainName"])
        if held is None:
            return _failed("InvalidInput", f"Domain {members['DomainName']} not found in the account")
        if operation == "RetrieveDomainAuthCode":
            return JSONResponse({"AuthCode": held.auth_code})
        held.auto_renew = operation == "EnableDomainAutoRenew"
        return JSONResponse({"OperationId": "op-1"})

    def _page(self, name: str, rows: Sequence[dict[str, Any]], members: dict[str, Any]) -> Response:
        start, size = int(members.get("Marker") or 0), self.limit(int(members.get("MaxItems") or 20))
        more = {"NextPageMarker": str(start + size)} if start + size < len(rows) else {}
        return JSONResponse({name: self.cut(rows, start=start, size=size), **more})

    def _bills(self, members: dict[str, Any]) -> list[dict[str, Any]]:
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
        return [row for row in rows if members["Start"] <= float(str(row["BillDate"])) < members["End"]]


def _sign(secret: str, scope: str, text: str) -> str:
    key = f"AWS4{secret}".encode()
    for part in scope.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    return hmac.digest(key, text.encode(), "sha256").hex()


def _failed(kind: str, message: str) -> Response:
    return JSONResponse({"__type": kind, "message": message}, status_code=400)


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
