"""Porkbun (https://porkbun.com/api/json/v3/documentation): domains, prices, transfers in; no order history."""

from collections.abc import Collection, Mapping, Sequence
from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator

from builders.kit.values.money import Money
from builders.portfolio.registrars.adapter import Adapter, ListEnd, Page, Place
from builders.portfolio.registrars.api_client import ApiResponse, Model, read
from builders.portfolio.registrars.failures import RegistrarFailed, RegistrarFailure
from builders.portfolio.registrars.items import read_about, read_those
from builders.portfolio.registrars.records import CredentialField, Environment, Profile, Quota
from builders.portfolio.registrars.rows import Amount, DomainRow, Row, TransferRow, named
from builders.portfolio.registrars.sources import Topic, client, document

_URL = "https://api.porkbun.com/api/json/v3"
_OF_SANDBOX = "pk1_sb_"  # begins a key of the sandbox, which has the same address
_NOT_HELD = "Invalid domain"  # begins the result of a domain of another account


class _Domain(DomainRow):
    model_config = named(  # flags are 0, 1, "0" or "1"
        expires_at="expireDate",
        created_at="createDate",
        auto_renew="autoRenew",
        locked="securityLock",
        privacy="whoisPrivacy",
        status_raw="status",
    )


class _Transfer(TransferRow):
    model_config = named(status_raw="status", started_at="transferDate", message="statusDescription")


class _Reply(Row):
    """The members of every response; errors have status ERROR and a code, also with HTTP 200."""

    status: str
    code: str | None = None
    message: str | None = None


class _Domains(Row):
    domains: tuple[Any, ...]


class _Transfers(Row):
    transfers: tuple[Any, ...] = ()


class _Price(Row):
    renewal: Annotated[Amount, BeforeValidator(lambda text: str(text).replace(",", ""))]  # USD of a year


class _Prices(Row):
    pricing: Mapping[str, Any]


class _Result(Row):
    status: str
    message: str | None = None


class _Results(Row):
    results: Mapping[str, _Result]


class Porkbun(Adapter):
    """An account at Porkbun."""

    profile = Profile(
        provider="porkbun",
        label="Porkbun",
        url=_URL,
        sandbox_url=_URL,
        live_domains=("porkbun.com",),
        credential_fields=(
            CredentialField(name="api_key", label="API key"),
            CredentialField(name="secret_api_key", label="Secret API key"),
        ),
        quota=Quota(requests=60, window_s=60),
        dashboard_url="https://porkbun.com/account/domainsSpeedy",
        list_end=(
            'an empty list: "increment by 1000 until you receive an empty array" '
            "(porkbun.com/api/json/v3/documentation, Domain List All, November 2026)"
        ),
        place="porkbun.com, Account, API access",
        aliases=("porkbuncom",),
        sources=(
            document(
                "https://porkbun.com/api/json/v3/documentation",
                "2026-11-22",
                *(Topic.AUTHENTICATION, Topic.PAGES, Topic.AUTO_RENEW, Topic.LOCK, Topic.SWITCH, Topic.PRICES),
                *(Topic.TRANSFERS, Topic.ERRORS, Topic.LIMITS),
            ),
            document("https://porkbun.com/api/json/v3/documentation", "2026-11", Topic.SANDBOX),
            client("https://docs.rs/crate/porkbun-api/latest/source/questions.md", "2026-11-22", Topic.STATES),
            client("https://github.com/jeessy2/ddns-go/issues/388", "2026-11-25", Topic.ERRORS),
        ),
    )
    ends = ListEnd.EMPTY
    domain_row = _Domain
    failures: ClassVar = {
        **dict.fromkeys(("API_KEY_REQUIRED", "INVALID_API_KEYS_001"), RegistrarFailure.AUTH_FAILED),
        **dict.fromkeys(("INVALID_API_KEYS_002", "INVALID_TOKEN", "INVALID_USER"), RegistrarFailure.AUTH_FAILED),
        **dict.fromkeys(("MISSING_APIKEY", "MISSING_SECRETAPIKEY"), RegistrarFailure.AUTH_FAILED),
        "IP_NOT_ALLOWED": RegistrarFailure.IP_NOT_ALLOWED,
        "DOMAIN_NOT_ALLOWED": RegistrarFailure.REFUSED,  # the key is for other domains
        **dict.fromkeys(("DOMAIN_NOT_FOUND", "INVALID_DOMAIN"), RegistrarFailure.NOT_FOUND),
        "RATE_LIMIT_EXCEEDED": RegistrarFailure.RATE_LIMITED,
    }
    auth_hint = "Check both keys, and that API access is switched on for the account."

    @classmethod
    def base_url_of(cls, environment: Environment, *, credentials: Mapping[str, str]) -> str:
        """Return the one address. Raise RegistrarFailed for a key of the other environment."""
        is_of_sandbox = credentials["api_key"].startswith(_OF_SANDBOX)
        if is_of_sandbox != (environment is Environment.SANDBOX):
            hint = f"Keys of Porkbun's sandbox begin with {_OF_SANDBOX}, and are for environment=sandbox alone."
            raise RegistrarFailed(RegistrarFailure.AUTH_FAILED, hint=hint)
        return super().base_url_of(environment, credentials=credentials)

    async def read_domains(self, place: Place) -> Page[Any]:
        """Return at most 1,000 domains from the index behind the page before; an empty page ends the list."""
        return Page(rows=(await self._post(_Domains, "/domain/listAll", start=str(place.start))).domains)

    async def list_transfers(self, domain: str) -> Sequence[TransferRow]:
        """Return the incoming transfers of the domain."""
        found = await self._post(_Transfers, "/domain/listTransfers")
        return read_about(domain, _Transfer, found.transfers)

    async def read_prices(self, suffixes: Collection[str]) -> Mapping[str, Money]:
        """Return the prices of a year, which need no keys."""
        body, form = {"tlds": sorted(suffixes)}, self.reader(_Prices)
        prices = (await self.send("POST", "/pricing/get", into=form, json=body)).pricing
        found = {tld.lower(): read_those(_Price, [each]) for tld, each in prices.items()}
        return {tld: Money(each.renewal, "USD").quantized() for tld, rows in found.items() for each in rows}

    async def set_auto_renew(self, domain: str, *, enabled: bool) -> None:
        """Switch automatic renewal on or off; the result of the domain is inside that of the request."""
        path, status = f"/domain/updateAutoRenew/{domain}", "on" if enabled else "off"
        found = (await self._post(_Results, path, reads=False, status=status)).results.get(domain)
        if found is None:
            raise RegistrarFailed(RegistrarFailure.MALFORMED)
        if found.status != "SUCCESS":
            text = found.message or ""
            code = "INVALID_DOMAIN" if text.startswith(_NOT_HELD) else found.status
            raise self.failure(code, text=text)

    async def _post(self, form: type[Model], path: str, *, reads: bool = True, **members: str) -> Model:
        keys = {"apikey": self._credentials["api_key"], "secretapikey": self._credentials["secret_api_key"]}
        return await self.send("POST", path, into=self.reader(form), json={**keys, **members}, reads=reads)

    def content(self, response: ApiResponse) -> Any:
        """Raise RegistrarFailed unless the status in the body is SUCCESS."""
        body = response.json()
        reply = read(_Reply, body)
        if reply.status != "SUCCESS":
            raise self.failure(reply.code or "", status=response.status, text=reply.message)
        return body
