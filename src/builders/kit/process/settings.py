"""The settings of the service, read once from the environment."""

import json
import re
from decimal import Decimal
from email.utils import parseaddr
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    AliasChoices,
    BeforeValidator,
    Field,
    IPvAnyAddress,
    SecretStr,
    TypeAdapter,
    ValidationError,
    ValidationInfo,
    field_validator,
)
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from builders.kit.process.hosts import (
    read_contact,
    read_host,
    read_host_port,
    read_local_listener,
    read_networks,
    read_origin,
    read_resolver,
    read_selector,
    read_web_address,
)
from builders.kit.process.issuers import OidcIssuer, Secret
from builders.kit.values.money import Money


def _read_amount(value: object) -> object:
    amount, _, currency = value.partition(" ") if isinstance(value, str) else ("", "", "")
    return Money.of(amount, currency.strip()) if amount else value


_Amount = Annotated[Money, BeforeValidator(_read_amount)]


_ISSUERS = TypeAdapter(tuple[OidcIssuer, ...])
_LISTS = (
    "secret_keys",
    "outbound_allow",
    "trusted_proxies",
    "lander_origins",
    "dns_resolvers",
    "mail_hosts",
    "machines_max_total",
)
_Host = Annotated[str, AfterValidator(read_host)]
_HostPort = Annotated[str, AfterValidator(read_host_port)]
_Origin = Annotated[str, AfterValidator(read_origin)]
_Contact = Annotated[str, AfterValidator(read_contact)]
_WebAddress = Annotated[str, AfterValidator(read_web_address)]
_ResolverText = Annotated[str, AfterValidator(lambda text: read_resolver(text) and text)]


class Settings(BaseSettings):
    """Environment variables `BUILDERS_*`; docs/reference/settings.md is generated from this class."""

    model_config = SettingsConfigDict(env_prefix="BUILDERS_", frozen=True, extra="ignore", env_ignore_empty=True)

    data_dir: Path = Field(
        Path(".data"),
        description="Folder of the embedded PostgreSQL, the secret keys, the catalog images and the dev outbox.",
    )
    database_url: SecretStr | None = Field(
        None,
        validation_alias=AliasChoices("BUILDERS_DATABASE_URL", "DATABASE_URL", "database_url"),
        description="URL of a PostgreSQL server (15 to 18). Unset: the embedded server in the data folder. "
        "`DATABASE_URL` is an alternative name.",
    )
    database_pooled: bool = Field(
        default=False,
        description="Whether BUILDERS_DATABASE_URL leads to a pooler in transaction mode, such as PgBouncer.",
    )
    database_direct_url: SecretStr | None = Field(
        None,
        validate_default=True,
        description="URL of the same database past the pooler, for migrations, LISTEN and the look-up server. "
        "Required with BUILDERS_DATABASE_POOLED. Unset: BUILDERS_DATABASE_URL.",
    )
    backup_s3_endpoint: str | None = Field(
        None, pattern="^https?://", description="URL of the object store of the backups. Unset: Amazon's."
    )
    backup_s3_region: str = Field("us-east-1", description="Region of the bucket of the backups.")
    backup_s3_key_id: str | None = Field(
        None, description="Access key of the bucket of the backups; it only has to list, read and add."
    )
    backup_s3_secret: SecretStr | None = Field(None, description="Secret of BUILDERS_BACKUP_S3_KEY_ID.")
    backup_to: str | None = Field(
        None,
        description="Folder of the sealed backups, on another disk or machine, or `s3://BUCKET/PREFIX`. Unset: "
        "none are made.",
    )
    backup_loss_s: int = Field(
        60, ge=10, le=3600, description="Seconds of work at most that are lost with the machine and its disk."
    )
    limits: float | None = Field(
        1.0,
        ge=0.001,
        le=1_000_000,
        allow_inf_nan=False,
        description="Factor of the quotas of all rate limits; `off` disables them.",
    )
    trusted_proxies: Annotated[tuple[str, ...], NoDecode] = Field(
        (),
        description="Comma-separated addresses or networks (CIDR) whose `X-Forwarded-For` and `X-Forwarded-Proto` "
        "are trusted; `unix` for peers on a Unix socket. Unset: none are trusted.",
    )
    host: str = Field("127.0.0.1", description="Address to listen on.")
    port: int = Field(8000, ge=0, le=65535, description="Port to listen on; 0 for a free one.")
    base_url: str | None = Field(
        None, description="Public address of the service, used in links. Unset: `http://HOST:PORT`."
    )
    secret_keys: Annotated[tuple[SecretStr, ...], NoDecode] = Field(
        (),
        description="Comma-separated secrets of 32 random bytes (43 characters of base64url). The first signs "
        "and seals, all verify and open. Unset: generated in the data folder.",
    )
    key_cache_s: float = Field(
        1.0,
        ge=0,
        le=1,
        description="Seconds for which a process caches a verified API key or token, even after its revocation by "
        "another process.",
    )
    session_hours: int = Field(12, ge=1, le=24 * 30, description="Lifetime of a person's session in hours.")
    sign_up: bool = Field(
        True,
        description="Whether the first code that a person enters opens an account for a new address. Otherwise "
        "the operator creates the accounts.",
    )
    oidc_issuers: Annotated[tuple[OidcIssuer, ...], NoDecode] = Field(
        (),
        description="JSON list of other issuers: `issuer`; `audience`, to accept its tokens; `client_id` and "
        "`client_secret`, to let people sign in there; and optionally `name`, `jwks_uri`, `algorithms` (of RS256, "
        "PS256, ES256, EdDSA), `sign_up`, `link_by_email`.",
    )
    body_limit: int = Field(2 * 1024 * 1024, ge=1024, description="Maximum bytes of a request body; above it 413.")
    body_budget: int = Field(
        64 * 1024 * 1024,
        ge=1024 * 1024,
        description="Maximum bytes of all request bodies in an HTTP process; above it 503 `busy`.",
    )
    pool_size: int = Field(10, ge=1, le=200, description="Database connections of each HTTP process.")
    pool_timeout_s: float = Field(
        3.0, gt=0, le=30, description="Seconds a request waits for a database connection before 503."
    )
    statement_timeout_s: float = Field(10.0, gt=0, le=600, description="Maximum seconds of one SQL statement.")
    database_answer_timeout_s: float = Field(
        10.0, gt=0, le=900, description="Maximum seconds until the database responds."
    )
    lock_timeout_s: float = Field(3.0, gt=0, le=600, description="Maximum seconds of a wait for a lock.")
    drain_s: float = Field(
        0.0,
        ge=0,
        le=300,
        description="Seconds for which a process that stops still accepts requests while /readyz answers 503. "
        "Behind a balancer: longer than its health checks need to notice.",
    )
    worker_concurrency: int = Field(
        4, ge=1, le=100, description="Concurrent short jobs of one worker. Half as many long ones run beside them."
    )
    worker_slice_s: float = Field(1.0, ge=0, le=60, description="Seconds of a long job before it is queued again.")
    quarantine_days: int = Field(90, ge=0, le=3650, description="Days of quarantine after a name is released.")
    erased_name_days: int = Field(
        365, ge=365, le=3650, description="Days in which nobody can claim the names of an erased account."
    )
    cooling_off_hours: int = Field(
        24,
        ge=0,
        le=14 * 24,
        description="Hours after the claim of a name in which its release undoes the claim and its charge, once "
        "for each account and name. 0: never.",
    )
    confirmations_per_day: int = Field(
        200,
        ge=1,
        le=1_000_000,
        description="Maximum number of confirmation emails of an account to new destinations per day; further "
        "ones are sent on the following days.",
    )
    machines_max_total: Annotated[tuple[_Amount, ...], NoDecode] = Field(
        (),
        description="Comma-separated amounts that all machines with a mandate of an account may cost in 30 days, "
        "such as `500.00 USD, 450.00 EUR`; a currency that is not listed is zero. Unset: the account decides.",
    )
    smtp_url: SecretStr | None = Field(
        None,
        description="Mail server: `smtp://USER:PASSWORD@HOST:PORT?starttls=required` (or `optional`, "
        "`never`), or `smtps://…`. Unset: mail is written to the folder `outbox` in the data folder.",
    )
    mail_from: str | None = Field(
        None,
        validate_default=True,
        description="Sender of mail: `Name <address>`. Required with BUILDERS_SMTP_URL.",
    )
    mail_reply_to: str | None = Field(None, description="Reply-To address of mail. Unset: the sender's address.")
    mail_bounces_to: str | None = Field(
        None,
        description="Mailbox for bounces, such as `bounce@mail.example`: each message then has its own return "
        "path, `bounce+TOKEN@mail.example`. Unset: the sender's address.",
    )
    mail_tracking: bool = Field(
        default=True, description="Whether opens and clicks of notices and marketing mail are recorded."
    )
    tracking_days: int = Field(
        90,
        ge=3,  # the last days are summed up again
        le=3650,
        description="Days for which single opens, clicks and funnel events are kept, in whole months; sums stay.",
    )
    mail_days: int = Field(
        90, ge=90, le=400, description="Days for which sent mail and its notices are listed, in whole months."
    )
    attempts_days: int = Field(
        30,
        ge=7,  # beyond the last attempt of a delivery
        le=90,  # for which deliveries are kept
        description="Days for which attempts of deliveries stay, with the answers of receivers, in whole months.",
    )
    audit_days: int = Field(
        400, ge=90, le=3650, description="Days for which the audit log is kept, in whole months."
    )
    lander_origins: Annotated[tuple[_Origin, ...], NoDecode] = Field(
        (),
        description="Comma-separated origins of other sites whose pages send funnel events: "
        "`https://harbour.example`. Their pages may read the responses (CORS).",
    )
    dkim_selector: Annotated[str, AfterValidator(read_selector)] | None = Field(
        None, description="DKIM selector: the key is at SELECTOR._domainkey.DOMAIN."
    )
    dkim_domain: _Host | None = Field(None, description="Domain that signs mail. Unset: the sender's domain.")
    dkim_key: SecretStr | None = Field(
        None, description="RSA or Ed25519 key that signs mail (DKIM): PEM text, or the path of a PEM file."
    )
    dns_resolvers: Annotated[tuple[_ResolverText, ...], NoDecode] = Field(
        (),
        description="Comma-separated name servers for the verification of account domains: `192.0.2.53`, "
        "`192.0.2.53:5353`, `[2001:db8::53]:53`. Unset: those of the system.",
    )
    mail_hosts: Annotated[tuple[_Host, ...], NoDecode] = Field(
        (),
        description="Comma-separated hosts that receive mail for account domains, the preferred one first. MX "
        "records must name them. Unset: MX is not checked.",
    )
    spf_include: _Host | None = Field(
        None,
        description="Domain that the SPF record of account domains must include. Unset: only its form is checked.",
    )
    outbound_allow: Annotated[tuple[_HostPort, ...], NoDecode] = Field(
        (),
        description="Comma-separated `HOST:PORT` that outgoing requests may reach even if not public, for "
        "development and tests: `127.0.0.1:9000, [::1]:9000, localhost:9000`. A name must resolve to this machine "
        "or to a public address.",
    )
    outbound_ip: IPvAnyAddress | None = Field(
        None,
        description="Public source address of outgoing requests. It is shown to members whose registrar accepts "
        "requests only from listed addresses.",
    )
    outbound_ca: Path | None = Field(
        None,
        description="File of certificates (PEM) of further authorities that outgoing requests trust.",
    )
    lookup_listen: str | None = Field(
        None,
        description="Where the look-up server listens for the mail server: `unix:/PATH`, or an address of this "
        "machine and a port (`127.0.0.1:9470`, `[::1]:9470`). Unset: none runs.",
    )
    filter_listen: str | None = Field(
        None,
        description="Where the mail filter listens for the mail server, in the form of `BUILDERS_LOOKUP_LISTEN`. "
        "Unset: none runs.",
    )
    mail_log: Path | None = Field(
        None,
        description="File that Postfix logs to, from which the service counts the mail of names; "
        "`builders postfix config` sets it there. Unset: mail is not counted.",
    )
    postmaster: str | None = Field(
        None,
        description="Address of the operator, which receives the mail to `postmaster` and `abuse` of each domain. "
        "Unset: this mail is refused, or goes to the catch-all of the domain.",
    )
    security_contact: _Contact | None = Field(
        None,
        description="Where people report vulnerabilities, shown at `/.well-known/security.txt`: an address, or "
        "`https://…`. Unset: this file does not exist.",
    )
    metrics_host: str = Field("127.0.0.1", description="Address that metrics are served on.")
    metrics_port: int | None = Field(
        None,
        ge=1,
        le=65535,
        description="Port of `/metrics` of all processes of a `builders serve`, for Prometheus. Unset: none.",
    )
    traces_to: _WebAddress | None = Field(
        None,
        validation_alias=AliasChoices("BUILDERS_TRACES_TO", "OTEL_EXPORTER_OTLP_ENDPOINT", "traces_to"),
        description="Base URL of a collector of OpenTelemetry (OTLP over HTTP), to which traces are sent, such as "
        "`http://127.0.0.1:4318`. `OTEL_EXPORTER_OTLP_ENDPOINT` is an alternative name. Unset: nothing is traced.",
    )
    seller_name: str = Field("Builders", min_length=1, max_length=120, description="The seller on invoices.")
    seller_address: Annotated[tuple[str, ...], NoDecode] = Field(
        (), max_length=6, description="Address of the seller on invoices, with `|` between its lines."
    )
    seller_tax_id: str | None = Field(None, max_length=40, description="Tax number of the seller on invoices.")
    seller_bank: str | None = Field(
        None, max_length=120, description="Bank details for transfers, as shown on invoices: bank, account number."
    )
    tax_rate: Decimal = Field(
        Decimal(0),
        ge=0,
        le=100,
        max_digits=7,
        decimal_places=4,
        allow_inf_nan=False,
        description="Percent of tax that is added to the prices on invoices, exact: `19`, `8.875`.",
    )
    invoice_font: Path | None = Field(
        None,
        description="TrueType or OpenType font for invoices in PDF, for names in any script. Unset: "
        "Helvetica, and characters that it lacks are transliterated to Latin ones.",
    )
    stripe_key: Secret | None = Field(
        None, description="Secret key of Stripe, for payment links of invoices. Unset: no payment links."
    )
    stripe_webhook_secret: Secret | None = Field(
        None, description="Signing secret (`whsec_…`) of Stripe's webhook to `/v1/invoices/stripe`."
    )
    stripe_api_base: _WebAddress = Field(
        "https://api.stripe.com", description="Stripe's API, for tests; `http` only with BUILDERS_OUTBOUND_ALLOW."
    )
    exchange_rates: str = Field(
        "https://www.ecb.europa.eu/stats/eurofxref/eurofxref-hist.zip",
        description="URL of the archive of exchange rates; rates newer than the installed ones are downloaded "
        "from it. `installed`: no download; `off`: no rates.",
    )
    rdap: str = Field(
        "https://data.iana.org/rdap/dns.json",
        description="URL of IANA's list of RDAP servers; `off`: no registry is queried.",
    )
    log_level: str = Field("info", description="`debug`, `info`, `warning` or `error`.")
    log_format: Literal["auto", "json", "console"] = Field(
        "auto",
        description="`json`: one object per line; `console`: text; `auto`: text on a terminal, else JSON.",
    )

    @field_validator("limits", mode="before")
    @classmethod
    def _read_off(cls, value: object) -> object:
        return None if value == "off" else value

    @field_validator("trusted_proxies")
    @classmethod
    def _read_networks(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        read_networks(value)
        return value

    @field_validator(*_LISTS, "seller_address", mode="before")
    @classmethod
    def _split(cls, value: object, known: ValidationInfo) -> object:
        mark = "|" if known.field_name == "seller_address" else ","
        return tuple(filter(None, map(str.strip, value.split(mark)))) if isinstance(value, str) else value

    @field_validator("database_direct_url")
    @classmethod
    def _passes_the_pooler(cls, value: SecretStr | None, known: ValidationInfo) -> SecretStr | None:
        if known.data.get("database_pooled") and None in {value, known.data.get("database_url")}:
            raise ValueError(
                "BUILDERS_DATABASE_POOLED requires BUILDERS_DATABASE_URL and this URL past the pooler"
            )
        return value

    @field_validator("backup_to")
    @classmethod
    def _folder_or_bucket(cls, value: str | None, known: ValidationInfo) -> str | None:
        if value is None or not value.startswith("s3://"):
            return value
        if not re.fullmatch(r"s3://[a-z0-9.-]+(/.*)?", value):
            raise ValueError("write a folder, or a bucket: s3://BUCKET/PREFIX")
        if None in {known.data.get("backup_s3_key_id"), known.data.get("backup_s3_secret")}:
            raise ValueError("a bucket requires BUILDERS_BACKUP_S3_KEY_ID and BUILDERS_BACKUP_S3_SECRET")
        return value

    @field_validator("lookup_listen", "filter_listen")
    @classmethod
    def _read_listener(cls, value: str | None) -> str | None:
        if value is not None:
            read_local_listener(value)
        return value

    @field_validator("postmaster")
    @classmethod
    def _bare_address(cls, value: str | None) -> str | None:
        if value is not None and not re.fullmatch(r"[^@<>\s,]+@[^@<>\s,]+", value):
            raise ValueError("write an address: hostmaster@builders.example")
        return value

    @field_validator("mail_from", "mail_reply_to", "mail_bounces_to")
    @classmethod
    def _address(cls, value: str | None, known: ValidationInfo) -> str | None:
        if value is not None and not re.fullmatch(r"[^@<>]+@[^@<>\s]+", parseaddr(value)[1]):
            raise ValueError("write an address, or a name and an address: Builders <mail@builders.example>")
        if value is None and known.field_name == "mail_from" and known.data.get("smtp_url") is not None:
            raise ValueError("mail through BUILDERS_SMTP_URL requires a sender")
        return value

    @field_validator("oidc_issuers", mode="before")
    @classmethod
    def _read_issuers(cls, value: object, known: ValidationInfo) -> object:
        if not isinstance(value, str):
            return value
        try:
            listed = json.loads(value)
        except ValueError as error:
            raise ValueError(f"not JSON: {error}") from None
        if not isinstance(listed, list):
            raise ValueError("write a JSON list of issuers")  # noqa: TRY004 - what pydantic takes for a wrong value
        try:
            issuers = _ISSUERS.validate_python(listed)
        except ValidationError as error:
            wrong = error.errors()[0]
            place, why = ".".join(map(str, wrong["loc"])), wrong["msg"].removeprefix("Value error, ")
            raise ValueError(f"{place}: {why}") from None
        ours = known.data.get("base_url")
        if len({each.issuer for each in issuers}) < len(issuers):
            raise ValueError("an issuer occurs twice")
        if ours is not None and ours.rstrip("/") in {each.issuer for each in issuers}:
            raise ValueError("an issuer is this service, whose tokens are always accepted")
        return issuers

    @field_validator("exchange_rates", "rdap")
    @classmethod
    def _source(cls, value: str, known: ValidationInfo) -> str:
        words = ("off", "installed") if known.field_name == "exchange_rates" else ("off",)
        return value if value in words else read_web_address(value)

    @field_validator("stripe_key", "stripe_webhook_secret")
    @classmethod
    def _of_stripe(cls, value: SecretStr | None, known: ValidationInfo) -> SecretStr | None:
        is_key = known.field_name == "stripe_key"
        prefixes = ("sk_", "rk_") if is_key else ("whsec_",)
        text = prefixes[0] if value is None else value.get_secret_value()
        if not text.startswith(prefixes) or not text.isascii() or not text.isprintable():
            kind = "a secret or restricted key" if is_key else "the signing secret of the webhook"
            raise ValueError(f"write {kind} of Stripe in ASCII, which begins with {' or '.join(prefixes)}")
        return value

    @field_validator("base_url")
    @classmethod
    def _public(cls, value: str | None) -> str | None:
        parts = urlsplit(value or "http://unset")
        is_web = parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0
        if not is_web or parts.query or parts.fragment:
            raise ValueError("write http://host, http://host:port or https://host")
        return value

    @property
    def url(self) -> str:
        """Return the public base address, without a slash at its end."""
        host = f"[{self.host}]" if ":" in self.host else self.host  # RFC 3986, 3.2.2
        return (self.base_url or f"http://{host}:{self.port}").rstrip("/")

    @property
    def conninfo(self) -> str:
        """Return the connection string of the database, which a pooler can be behind. Raise RuntimeError."""
        if self.database_url is None:
            raise RuntimeError("No database: set BUILDERS_DATABASE_URL, or start with `builders serve`.")
        return self.database_url.get_secret_value()

    @property
    def session_url(self) -> SecretStr | None:
        """Return the URL for what needs a session of its own: LISTEN, migrations, session locks."""
        return self.database_direct_url or self.database_url

    @property
    def issuer(self) -> str:
        """Return the issuer and audience of the service's tokens: the public address, or a fixed name.

        Not `url`: a token of the command line is valid on a server with another port.
        """
        return (self.base_url or "urn:builders").rstrip("/")
