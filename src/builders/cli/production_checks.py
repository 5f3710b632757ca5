"""The checks of `builders doctor --production`: what is a value of the demo, or a default for development."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
from psycopg.conninfo import conninfo_to_dict
from pydantic import SecretStr

from builders.backup import archive
from builders.catalog import availability
from builders.cli.doctor import CheckData, Finding
from builders.demo import service as demo
from builders.identity import accounts
from builders.identity.errors import AccountNotFound
from builders.kit.db.connections import Conn
from builders.kit.process.settings import Settings
from builders.kit.values.domain_names import is_special_use

GUESSED = frozenset({"", "secret", "password", "postgres", "builders", "changeme", "admin"})
STRIPE, SELLER = (Settings.model_fields[name].default for name in ("stripe_api_base", "seller_name"))
IN_A_FILE = "Write it to a file of the folder CREDENTIALS_DIRECTORY, named as the setting in lower case."
# What is wrong, and what to set.
TEXTS = {
    "BASE_URL": ("Links and cookies are for an address without TLS, or not a public one.", "Set https://HOST."),
    "TRUSTED_PROXIES": (
        "No proxy is trusted, and the service has no TLS itself.",
        "Set the address of the proxy.",
    ),
    "DATA_DIR": ("The data folder depends on the folder of the start.", "Set it, such as /var/lib/builders."),
    "DATABASE_URL": ("The password of the database can be guessed.", "Give the role a random one, and set it."),
    "SECRET_KEYS": (
        "The secret keys are in the data folder only.",
        "Keep a copy elsewhere, and set them in a file.",
    ),
    "SMTP_URL": ("Mail is not sent, but written to the folder `outbox`.", "Set it to your mail server."),
    "MAIL_FROM": ("The sender of mail is an example.", "Set it to an address of yours."),
    "POSTMASTER": ("The address of the operator is an example.", "Set it to an address of yours."),
    "MAIL_HOSTS": ("A host for MX records is an example.", "Set it to the hosts that receive mail."),
    "OUTBOUND_ALLOW": ("Customers can reach hosts that are not public, as stand-ins of registrars.", "Unset it."),
    "OIDC_ISSUERS": ("An issuer, which signs people in, is not public.", "Remove it."),
    "LIMITS": ("There are no rate limits.", "Unset it."),
    "LOG_LEVEL": ("The log has more than operation needs.", "Unset it, or set it to info."),
    "STRIPE_KEY": ("Invoices are paid with money of Stripe's test mode.", "Set it to a live key."),
    "STRIPE_API_BASE": ("Payments go to another server than Stripe's.", "Unset it."),
    "SELLER_NAME": ("Invoices name no seller but the product.", "Set it to the name of your company."),
    "SELLER_ADDRESS": ("Invoices have no address of the seller.", "Set it, with `|` between its lines."),
}


def run_checks(settings: Settings, environment: Mapping[str, str]) -> Iterator[Finding]:
    """Yield a finding about each setting that is not fit for production, and each secret in the environment."""
    for name, is_wrong in _judge(settings).items():
        if is_wrong:
            detail, action = TEXTS[name]
            yield Finding(check=f"BUILDERS_{name}", ok=False, detail=detail, next_action=action)
    secret = {f"BUILDERS_{name.upper()}" for name in Settings.model_fields if _is_secret(getattr(settings, name))}
    for name in sorted(secret & {each.upper() for each in environment}):
        yield Finding(check=name, ok=False, detail="A secret is in the environment.", next_action=IN_A_FILE)


def _judge(s: Settings) -> Mapping[str, bool]:
    url = urlsplit(s.url)
    return {
        "BASE_URL": url.scheme != "https" or _is_example(url.hostname),
        "TRUSTED_PROXIES": s.base_url is not None and not s.trusted_proxies,
        "DATA_DIR": s.data_dir == Path(".data").absolute(),
        "DATABASE_URL": s.database_url is not None and _has_guessed_password(s.database_url.get_secret_value()),
        "SECRET_KEYS": not s.secret_keys,
        "SMTP_URL": s.smtp_url is None,
        "MAIL_FROM": s.mail_from is not None and _is_example(s.mail_from),
        "POSTMASTER": s.postmaster is not None and _is_example(s.postmaster),
        "MAIL_HOSTS": any(map(_is_example, s.mail_hosts)),
        "OUTBOUND_ALLOW": bool(s.outbound_allow),
        "OIDC_ISSUERS": any(_is_example(urlsplit(each.issuer).hostname) for each in s.oidc_issuers),
        "LIMITS": s.limits is None,
        "LOG_LEVEL": s.log_level.lower() == "debug",
        "STRIPE_KEY": s.stripe_key is not None and "_test_" in s.stripe_key.get_secret_value(),
        "STRIPE_API_BASE": s.stripe_api_base != STRIPE,
        "SELLER_NAME": s.seller_name == SELLER,
        "SELLER_ADDRESS": not s.seller_address,
    }


def _is_example(written: str | None) -> bool:
    """Return whether a host, or that of an address, is not of the public DNS: an example, or near."""
    host = (written or "").rpartition("@")[2].rstrip(">. ").lower()
    with suppress(ValueError):
        return not ip_address(host).is_global
    top = host.rpartition(".")[2]
    return top in {host, "example"} or is_special_use(host) or host.startswith("example.")


def _has_guessed_password(conninfo: str) -> bool:
    with suppress(psycopg.Error):
        given = conninfo_to_dict(conninfo)
        return "password" in given and given["password"] in {*GUESSED, given.get("user")}
    return False


def _is_secret(value: object) -> bool:
    if isinstance(value, tuple):
        return any(map(_is_secret, value))
    return isinstance(value, SecretStr) or isinstance(getattr(value, "client_secret", None), SecretStr)


def list_data_checks(settings: Settings) -> list[CheckData]:
    """Return the checks of what the database has."""
    checks = [_check_accounts, _check_catalog, *([_check_archive] if settings.database_url is None else [])]
    return [partial(_on_connection, check=each) for each in checks]


def _on_connection(conninfo: str, *, check: Callable[[Conn], Awaitable[Finding]]) -> Finding:
    async def run() -> Finding:
        async with await psycopg.AsyncConnection.connect(conninfo, autocommit=True) as conn:
            return await check(conn)

    return asyncio.run(run())


async def _check_accounts(conn: Conn) -> Finding:
    found = []
    for email in (*demo.ACCOUNTS, *demo.MEMBERS):
        with suppress(AccountNotFound):
            found.append((await accounts.get_account_by_email(conn, email=email)).email)
    detail = f"Accounts of the demo, whose keys were printed: {', '.join(found) or 'none'}."
    action = "Begin with an empty database, without --demo." if found else None
    return Finding(check="demo accounts", ok=not found, detail=detail, next_action=action)


async def _check_catalog(conn: Conn) -> Finding:
    found = await availability.load_domains(conn, domains=[domain for domain, _ in demo.list_titles()])
    action = "Load your own catalog into an empty database by `builders catalog load`." if found else None
    detail = f"Domains of the demo in the catalog: {len(found)}."
    return Finding(check="demo catalog", ok=not found, detail=detail, next_action=action)


async def _check_archive(conn: Conn) -> Finding:
    is_archived = await archive.is_kept(conn)
    action = (
        "Set BUILDERS_BACKUP_TO and run `builders backup init`, or set BUILDERS_DATABASE_URL to another server."
    )
    detail = "The embedded database archives its log." if is_archived else "The embedded database has no backup."
    return Finding(check="backup", ok=is_archived, detail=detail, next_action=None if is_archived else action)
