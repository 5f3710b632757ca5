"""Whom our mail comes from, as the settings say."""

from dataclasses import dataclass
from email.utils import parseaddr
from pathlib import Path
from urllib.parse import urlsplit

from builders.kit.process.settings import Settings
from builders.mail import addresses
from builders.mail.signing import Signer

_MAX_RETURN = 16  # characters of the local part before the token: 64 in all


@dataclass(frozen=True, slots=True, kw_only=True)
class Sender:
    """What stands on every envelope."""

    name: str
    address: str
    domain: str
    reply_to: str | None = None
    bounces_to: str | None = None
    signer: Signer | None = None

    def return_path(self, token: str) -> str:
        """The envelope's sender; one of the message's own, if returned mail is to be told apart."""
        if self.bounces_to is None:
            return self.address
        local, _, domain = self.bounces_to.rpartition("@")
        return f"{local}+{token}@{domain}"


def of(settings: Settings) -> Sender:
    """The sender as the settings name it. Raises ValueError, in words, for what will not do."""
    named = urlsplit(settings.url).hostname or ""
    host = named if named[-1:].isalpha() else "localhost"  # an IP address is no domain
    name, written = parseaddr(settings.mail_from or f"Builders <no-reply@{host}>")
    address = _route(written, "BUILDERS_MAIL_FROM") if settings.mail_from else f"no-reply@{host}"
    bounces_to = settings.mail_bounces_to and _route(
        parseaddr(settings.mail_bounces_to)[1], "BUILDERS_MAIL_BOUNCES_TO"
    )
    if bounces_to and len(bounces_to.partition("@")[0]) >= _MAX_RETURN:
        raise ValueError(f"BUILDERS_MAIL_BOUNCES_TO has more than {_MAX_RETURN - 1} characters before its @")
    reply_to = settings.mail_reply_to and _route(parseaddr(settings.mail_reply_to)[1], "BUILDERS_MAIL_REPLY_TO")
    domain = address.rpartition("@")[2]
    return Sender(
        name=name,
        address=address,
        domain=domain,
        reply_to=reply_to or None,
        bounces_to=bounces_to or None,
        signer=_signer(settings, domain),
    )


def _route(address: str, setting: str) -> str:
    route = addresses.find_route(address)
    if route is None or not route.isascii():
        raise ValueError(f"{setting} is no address that mail can come from")
    return route


def _signer(settings: Settings, domain: str) -> Signer | None:
    if settings.dkim_key is None:
        return None
    if settings.dkim_selector is None:
        raise ValueError("BUILDERS_DKIM_KEY needs BUILDERS_DKIM_SELECTOR")
    key = settings.dkim_key.get_secret_value().replace("\\n", "\n")
    try:
        pem = key if "-----BEGIN" in key else Path(key).read_text(encoding="ascii")
    except (OSError, ValueError):
        raise ValueError("the file that BUILDERS_DKIM_KEY names cannot be read") from None
    return Signer(selector=settings.dkim_selector, domain=settings.dkim_domain or domain, pem=pem)
