"""Amazon Route 53 Domains (https://docs.aws.amazon.com/Route53/latest/APIReference/): JSON 1.1, signed (SigV4)."""

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from http import HTTPStatus
from typing import Annotated, Any, ClassVar

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_pascal

from builders.kit.values.money import Money
from builders.portfolio.registrars.adapter import Adapter, Headers, ListEnd, Page, Place, bounded, list_pages
from builders.portfolio.registrars.api_client import ApiClient, ApiResponse, Model, read
from builders.portfolio.registrars.failures import RegistrarFailure
from builders.portfolio.registrars.items import Items, read_about, read_those
from builders.portfolio.registrars.records import AuthCode, BilledLine, CredentialField, Profile, Quota
from builders.portfolio.registrars.rows import (
    AmountOfFloat,
    BillTime,
    CodeRow,
    DomainRow,
    TransferRow,
    classify,
    named,
    time_by,
)
from builders.portfolio.registrars.sources import Topic, document

_REGION, _SERVICE = "us-east-1", "route53domains"  # Route 53 Domains has this one region
# Of docs.aws.amazon.com/Route53/latest/APIReference/CommonErrors.html, and of signatures.
_KEY_REFUSED = (
    *("AccessDeniedException", "IncompleteSignature", "InvalidClientTokenId", "InvalidSignatureException"),
    *("ExpiredTokenException", "InvalidAccessKeyId", "MissingAuthenticationToken", "NotAuthorized"),
    *("OptInRequired", "SignatureDoesNotMatch", "UnrecognizedClientException"),
)
_seconds = time_by(lambda text: datetime.fromtimestamp(float(text), UTC))  # since 1970
_Instant = Annotated[datetime | None, _seconds]


class _Domain(DomainRow):
    model_config = named(domain="DomainName", expires_at="Expiry", auto_renew="AutoRenew", locked="TransferLock")
    expires_at: _Instant = None


class _Operation(TransferRow):
    model_config = named(
        domain="DomainName", status_raw="Status", is_out="Type", started_at="SubmittedDate", message="Message"
    )
    started_at: _Instant = None


class _Members(BaseModel):
    model_config = ConfigDict(alias_generator=to_pascal, frozen=True)


class _Bill(_Members):
    domain_name: str
    operation: str
    invoice_id: str | None = None
    bill_date: Annotated[BillTime, _seconds]
    price: AmountOfFloat


class _Page(_Members):
    next_page_marker: str | None = None


class _Domains(_Page):
    domains: tuple[Any, ...]


class _Bills(_Page):
    billing_records: tuple[Any, ...] = ()


class _Amount(_Members):
    price: AmountOfFloat
    currency: str


class _Price(_Members):
    name: str
    renewal_price: _Amount | None = None


class _Prices(_Page):
    prices: tuple[Any, ...] = ()


class _Operations(_Page):
    operations: tuple[Any, ...] = ()


class _Error(BaseModel):
    type: str = Field(default="", alias="__type")
    message: str = ""


class Route53(Adapter):
    """An AWS account with Route 53 Domains."""

    profile = Profile(
        provider="route53",
        label="Amazon Route 53",
        url="https://route53domains.us-east-1.amazonaws.com",
        live_domains=("us-east-1.amazonaws.com", "us-east-1.api.aws"),
        credential_fields=(
            CredentialField(name="access_key_id", label="Access key ID", is_secret=False),
            CredentialField(name="secret_access_key", label="Secret access key"),
        ),
        quota=Quota(requests=60, window_s=60),
        dashboard_url="https://console.aws.amazon.com/route53/domains/home",
        list_end=(
            "a page without `NextPageMarker` "
            "(docs.aws.amazon.com/Route53/latest/APIReference/API_domains_ListDomains.html, November 2026)"
        ),
        place="AWS console, IAM, an access key of a user for this purpose",
        requires="the policy of [Connect a registrar](../how-to/connect-a-registrar.md)",
        sources=(
            document(
                "https://docs.aws.amazon.com/Route53/latest/APIReference/API_Operations_Amazon_Route_53_Domains.html",
                "2026-11",
                *Topic,
            ),
            document(
                "https://docs.aws.amazon.com/Route53/latest/APIReference/API_domains_ListPrices.html",
                "2026-11-22",
                Topic.PRICES,
            ),
        ),
        aliases=("amazon", "amazonroute53", "amazonregistrar", "amazonwebservices", "aws", "awsroute53"),
        resold=("gandi",),
    )
    ends = ListEnd.CURSOR
    domain_row = _Domain
    failures: ClassVar = {
        **dict.fromkeys(("OperationLimitExceeded", "RequestLimitExceeded"), RegistrarFailure.RATE_LIMITED),
        **dict.fromkeys(("Throttling", "ThrottlingException"), RegistrarFailure.RATE_LIMITED),
        **dict.fromkeys(("InternalFailure", "ServiceUnavailable"), RegistrarFailure.UNAVAILABLE),
        "TLDInMaintenance": RegistrarFailure.UNAVAILABLE,
        **dict.fromkeys(_KEY_REFUSED, RegistrarFailure.AUTH_FAILED),
    }
    words: ClassVar = {"not found": RegistrarFailure.NOT_FOUND}  # in the message of InvalidInput
    auth_hint = "Check the key pair and that its policy allows route53domains:List*, View* and Get*."

    def __init__(self, api: ApiClient, *, credentials: Mapping[str, str]) -> None:
        super().__init__(api, credentials=credentials)
        keys = Credentials(credentials["access_key_id"], credentials["secret_access_key"])
        self._signer = SigV4Auth(keys, _SERVICE, _REGION)

    async def read_domains(self, place: Place) -> Page[Any]:
        """Return 100 domains after the marker of the page before."""
        page = await self._list(_Domains, "ListDomains", place)
        return Page(rows=page.domains, cursor=page.next_page_marker)

    async def read_prices(self, suffixes: Collection[str]) -> Mapping[str, Money]:
        """Return the prices of all suffixes."""
        del suffixes

        async def read_page(place: Place) -> Page[Any]:
            page = await self._list(_Prices, "ListPrices", place, MaxItems=1000)
            return Page(rows=page.prices, cursor=page.next_page_marker)

        pages = [page async for page in bounded(list_pages(read_page))]
        found = [row for page in pages for row in read_those(_Price, page)]
        prices = [(row.name, row.renewal_price) for row in found if row.renewal_price is not None]
        return {name: Money(each.price, each.currency).quantized() for name, each in prices}

    async def list_charges(self, *, since: date, until: date) -> AsyncIterator[Sequence[BilledLine]]:
        """Yield the billing records of the period, in US dollars; they do not name the number of years."""
        period = {"Start": _epoch(since), "End": _epoch(until + timedelta(days=1))}

        items = Items(name="domain_name")

        async def read_bills(place: Place) -> Page[Any]:
            page = await self._list(_Bills, "ViewBilling", place, **period)
            return Page(rows=page.billing_records, cursor=page.next_page_marker)

        async for values in bounded(list_pages(read_bills, items=items)):
            bills = await items.rows(_Bill, values)
            if lines := [_line(bill) for bill in bills if since <= bill.bill_date.date() <= until]:
                yield lines

    async def get_auth_code(self, domain: str) -> AuthCode:
        """Return the authorization code."""
        return (await self._operate(CodeRow, "RetrieveDomainAuthCode", {"DomainName": domain})).code()

    async def list_transfers(self, domain: str) -> Sequence[TransferRow]:
        """Return the transfers of the domain among the operations of the account."""

        async def read_operations(place: Place) -> Page[Any]:
            types = ["TRANSFER_IN_DOMAIN", "TRANSFER_OUT_DOMAIN"]
            page = await self._list(_Operations, "ListOperations", place, Type=types)
            return Page(rows=page.operations, cursor=page.next_page_marker)

        pages = [page async for page in bounded(list_pages(read_operations))]
        return [row for page in pages for row in read_about(domain, _Operation, page)]

    async def set_auto_renew(self, domain: str, *, enabled: bool) -> None:
        """Switch automatic renewal on or off."""
        operation = "EnableDomainAutoRenew" if enabled else "DisableDomainAutoRenew"
        await self._operate(_Page, operation, {"DomainName": domain}, reads=False)

    async def _list(self, form: type[Model], operation: str, place: Place, **members: object) -> Model:
        marker = {} if place.cursor is None else {"Marker": place.cursor}
        return await self._operate(form, operation, {"MaxItems": 100, **members, **marker})

    async def _operate(
        self, form: type[Model], operation: str, members: Mapping[str, object], *, reads: bool = True
    ) -> Model:
        return await self.send(
            "POST",
            "/",
            into=self.reader(form),
            json=members,
            headers={"X-Amz-Target": f"Route53Domains_v20140515.{operation}"},
            reads=reads,
        )

    def sign(self, method: str, target: str, *, headers: Headers, body: bytes | None) -> Headers:
        """Sign the request as AWS prescribes."""
        typed = {**headers, "Content-Type": "application/x-amz-json-1.1"}
        request = AWSRequest(method=method, url=f"{self._api.base_url}{target}", data=body, headers=typed)
        self._signer.add_auth(request)
        return {name: str(value) for name, value in request.headers.items()}

    def content(self, response: ApiResponse) -> Any:
        """Raise RegistrarFailed for an error, which has a type, with status 400 or 403."""
        if response.status == HTTPStatus.OK:
            return response.json()
        error = read(_Error, response.json())
        raise self.failure(error.type.rpartition("#")[2], text=error.message)


def _line(bill: _Bill) -> BilledLine:
    day = bill.bill_date.date()
    return BilledLine(
        order_id=bill.invoice_id or f"{day.isoformat()}-{bill.domain_name}",
        line_id=f"{bill.domain_name}-{bill.operation}-{day.isoformat()}",
        charged_on=day,
        description=f"{bill.operation} {bill.domain_name}",
        domains=(bill.domain_name,),
        kind=classify(bill.operation, total=bill.price),
        total=bill.price,
        currency="USD",
    )


def _epoch(day: date) -> int:
    return int(datetime.combine(day, time(), tzinfo=UTC).timestamp())
