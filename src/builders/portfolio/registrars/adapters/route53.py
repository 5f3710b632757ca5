"""Amazon Route 53 Domains (https://docs.aws.amazon.com/Route53/latest/APIReference/): JSON 1.1, signed (SigV4)."""

from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from http import HTTPStatus
from typing import Annotated

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, TypeAdapter
from pydantic.alias_generators import to_pascal
from pydantic_core import to_json

from builders.portfolio.registrars.adapter import Adapter, Amount, Rows, a_label, bounded, convert
from builders.portfolio.registrars.api_client import ApiClient, ApiResponse, T, read
from builders.portfolio.registrars.failures import RegistrarFailed, RegistrarFailure
from builders.portfolio.registrars.records import (
    AuthCode,
    AuthCodeDelivery,
    BilledLine,
    Capabilities,
    ChargeKind,
    CredentialField,
    Environment,
    HeldDomain,
    HeldStatus,
    HeldTransfer,
    Profile,
    Quota,
    TransferDirection,
    TransferState,
)

_PER_PAGE = 100
_REGION, _SERVICE = "us-east-1", "route53domains"  # Route 53 Domains has this one region
_KINDS = {
    "REGISTER_DOMAIN": ChargeKind.REGISTRATION,
    "RENEW_DOMAIN": ChargeKind.RENEWAL,
    "TRANSFER_IN_DOMAIN": ChargeKind.TRANSFER,
    "RESTORE_DOMAIN": ChargeKind.REDEMPTION,
}
_STATES = {
    **dict.fromkeys(("SUBMITTED", "IN_PROGRESS"), TransferState.PENDING),
    **dict.fromkeys(("ERROR", "FAILED"), TransferState.FAILED),
    "SUCCESSFUL": TransferState.COMPLETED,
}
_KEY_REFUSED = {
    *("AccessDeniedException", "IncompleteSignature", "InvalidClientTokenId", "InvalidSignatureException"),
    *("MissingAuthenticationToken", "SignatureDoesNotMatch", "UnrecognizedClientException"),
}
_NOT_FOUND = "not found"  # within the message of InvalidInput
_Exact = Annotated[Amount, BeforeValidator(str)]  # prices are floats
_Instant = Annotated[datetime, AfterValidator(lambda value: value.astimezone(UTC))]  # epoch seconds


class _Members(BaseModel):
    model_config = ConfigDict(alias_generator=to_pascal, frozen=True)


class _Domain(_Members):
    domain_name: str
    auto_renew: bool | None = None
    transfer_lock: bool | None = None
    expiry: _Instant | None = None


class _Domains(_Members):
    domains: Rows[_Domain]
    next_page_marker: str | None = None


class _Bill(_Members):
    domain_name: str
    operation: str
    invoice_id: str | None = None
    bill_date: _Instant
    price: _Exact


class _Bills(_Members):
    billing_records: Rows[_Bill] = ()
    next_page_marker: str | None = None


class _Operation(_Members):
    operation_id: str = ""
    status: str
    type: str
    domain_name: str | None = None
    submitted_date: _Instant | None = None
    message: str | None = None


class _Operations(_Members):
    operations: Rows[_Operation] = ()
    next_page_marker: str | None = None


class _Code(_Members):
    auth_code: str = Field(repr=False)


class _Error(BaseModel):
    type: str = ""
    message: str = ""

    model_config = ConfigDict(alias_generator=lambda name: "__type" if name == "type" else name)


_DOMAINS = TypeAdapter(_Domains)
_BILLS = TypeAdapter(_Bills)
_OPERATIONS = TypeAdapter(_Operations)
_CODE = TypeAdapter(_Code)
_ERROR = TypeAdapter(_Error)
_ANY = TypeAdapter(dict[str, object])


class Route53(Adapter):
    """An AWS account with Route 53 Domains."""

    profile = Profile(
        provider="route53",
        label="Amazon Route 53",
        base_urls={Environment.LIVE: "https://route53domains.us-east-1.amazonaws.com"},
        live_domains=("us-east-1.amazonaws.com", "us-east-1.api.aws"),
        credential_fields=(
            CredentialField(name="access_key_id", label="Access key ID", is_secret=False),
            CredentialField(name="secret_access_key", label="Secret access key"),
        ),
        capabilities=Capabilities(
            set_auto_renew=True, billing=True, auth_code=AuthCodeDelivery.RETURNED, transfer_status=True
        ),
        quota=Quota(requests=60, window_s=60),
        dashboard_url="https://console.aws.amazon.com/route53/domains/home",
        list_end=(
            "a page without `NextPageMarker` "
            "(docs.aws.amazon.com/Route53/latest/APIReference/API_domains_ListDomains.html, November 2026)"
        ),
    )

    def __init__(self, api: ApiClient, *, credentials: Mapping[str, str]) -> None:
        super().__init__(api, credentials=credentials)
        keys = Credentials(credentials["access_key_id"], credentials["secret_access_key"])
        self._signer = SigV4Auth(keys, _SERVICE, _REGION)

    async def list_domains(self) -> AsyncIterator[Sequence[HeldDomain]]:
        """Yield pages of 100 domains, each after the marker of the one before."""
        marker: dict[str, object] = {}
        while True:
            page = await self._call("ListDomains", _DOMAINS, {"MaxItems": _PER_PAGE, **marker})
            yield await convert(page.domains, _held)
            if not page.next_page_marker:
                return
            marker = {"Marker": page.next_page_marker}

    async def list_charges(self, *, since: date, until: date) -> AsyncIterator[Sequence[BilledLine]]:
        """Yield the billing records of the period, in US dollars; they do not name the number of years."""
        members: dict[str, object] = {
            "Start": _epoch(since),
            "End": _epoch(until + timedelta(days=1)),
            "MaxItems": _PER_PAGE,
        }
        async for bills in bounded(self._list_bills(members)):
            lines = [line for line in map(_line, bills) if since <= line.charged_on <= until]
            if lines or not bills:
                yield lines

    async def _list_bills(self, members: dict[str, object]) -> AsyncIterator[Sequence[_Bill]]:
        while True:
            page = await self._call("ViewBilling", _BILLS, members)
            yield page.billing_records
            if not page.next_page_marker:
                return
            members["Marker"] = page.next_page_marker

    async def get_auth_code(self, domain: str) -> AuthCode:
        """Return the authorization code."""
        found = await self._call("RetrieveDomainAuthCode", _CODE, {"DomainName": domain})
        return AuthCode(delivery=AuthCodeDelivery.RETURNED, code=found.auth_code)

    async def find_transfer(self, domain: str) -> HeldTransfer | None:
        """Return the latest transfer of the domain among the operations of the account."""
        pages = [page async for page in bounded(self._list_transfers())]
        found = [each for page in pages for each in page if a_label(each.domain_name or "") == domain]
        if not found:
            return None
        latest = max(found, key=lambda each: each.submitted_date or datetime.min.replace(tzinfo=UTC))
        is_out = latest.type == "TRANSFER_OUT_DOMAIN"
        return HeldTransfer(
            direction=TransferDirection.OUT if is_out else TransferDirection.IN,
            state=_STATES.get(latest.status, TransferState.ACTION_REQUIRED),
            status_raw=latest.status,
            started_at=latest.submitted_date,
            message=latest.message,
        )

    async def _list_transfers(self) -> AsyncIterator[Sequence[_Operation]]:
        members: dict[str, object] = {"MaxItems": _PER_PAGE, "Type": ["TRANSFER_IN_DOMAIN", "TRANSFER_OUT_DOMAIN"]}
        while True:
            page = await self._call("ListOperations", _OPERATIONS, members)
            yield page.operations
            if not page.next_page_marker:
                return
            members["Marker"] = page.next_page_marker

    async def set_auto_renew(self, domain: str, *, enabled: bool) -> None:
        """Switch automatic renewal on or off."""
        operation = "EnableDomainAutoRenew" if enabled else "DisableDomainAutoRenew"
        await self._call(operation, _ANY, {"DomainName": domain}, is_read=False)

    async def _call(
        self, operation: str, form: TypeAdapter[T], members: Mapping[str, object], *, is_read: bool = True
    ) -> T:
        def into(response: ApiResponse) -> T:
            return read(form, _checked(response).json())

        request = AWSRequest(
            method="POST",
            url=f"{self._api.base_url}/",
            data=to_json(members),
            headers={
                "Content-Type": "application/x-amz-json-1.1",
                "X-Amz-Target": f"Route53Domains_v20140515.{operation}",
            },
        )
        self._signer.add_auth(request)
        headers = {name: str(value) for name, value in request.headers.items()}
        return await self._api.send("POST", "/", into=into, headers=headers, body=request.data, reads=is_read)


def _checked(response: ApiResponse) -> ApiResponse:
    """Raise RegistrarFailed for an error, which has a type, with status 400 or 403."""
    if response.status == HTTPStatus.OK:
        return response
    error = read(_ERROR, response.json())
    code = error.type.rpartition("#")[2]
    if code == "ThrottlingException":
        raise RegistrarFailed(RegistrarFailure.RATE_LIMITED, code=code)
    if code in _KEY_REFUSED:
        hint = "Check the key pair and that its policy allows route53domains:List*, View* and Get*."
        raise RegistrarFailed(RegistrarFailure.AUTH_FAILED, code=code, hint=hint)
    if _NOT_FOUND in error.message.lower():
        raise RegistrarFailed(RegistrarFailure.NOT_FOUND, code=code)
    raise RegistrarFailed(RegistrarFailure.REFUSED, code=code)


def _held(row: _Domain) -> HeldDomain:
    return HeldDomain(
        domain=a_label(row.domain_name),
        expires_at=row.expiry,
        auto_renew=row.auto_renew,
        locked=row.transfer_lock,
        status=HeldStatus.UNKNOWN,
    )


def _line(bill: _Bill) -> BilledLine:
    day = bill.bill_date.date()
    order = bill.invoice_id or f"{day.isoformat()}-{bill.domain_name}"
    return BilledLine(
        order_id=order,
        line_id=f"{bill.domain_name}-{bill.operation}-{day.isoformat()}",
        charged_on=day,
        description=f"{bill.operation} {bill.domain_name}",
        domains=(bill.domain_name,),
        kind=ChargeKind.REFUND if bill.price < 0 else _KINDS.get(bill.operation, ChargeKind.OTHER),
        total=bill.price,
        currency="USD",
    )


def _epoch(day: date) -> int:
    return int(datetime.combine(day, time(), tzinfo=UTC).timestamp())
