"""Which registrar a person, a file or a registry means by a name such as `GoDaddy.com, LLC`."""

import re
from collections.abc import Collection, Mapping, Sequence

from builders.portfolio.registrars.providers import ADAPTERS
from builders.portfolio.registrars.records import MANUAL

_FORMS = r"llc|inc|ltd|limited|gmbh|sas|sarl|bv|ab|ag|co|corp|corporation|company|pty|plc|srl|sa"
_FORM = re.compile(rf"(?:[\s,.]+(?:{_FORMS})\b\.?)+\s*$")
_OTHER = re.compile(r"[^a-z0-9]+")
# Other names of a registrar, without spaces and punctuation, including its company names at registries.
_ALIASES: Mapping[str, Sequence[str]] = {
    "cloudflare": ("cloudflareregistrar",),
    "godaddy": ("godaddycom", "godaddyonlineservicescaymanislands", "wildwestdomains"),
    "namecheap": ("namecheapcom",),
    "namesilo": ("namesilocom",),
    "ovh": ("ovhcloud", "ovhcom"),
    "porkbun": ("porkbuncom",),
    "route53": ("amazon", "amazonroute53", "amazonregistrar", "amazonwebservices", "aws", "awsroute53"),
    "spaceship": ("spaceshipcom",),
}
# Registrars that a provider is or was a reseller of: registries show them in its place for some names.
_RESOLD: Mapping[str, Sequence[str]] = {"namecheap": ("enom",), "route53": ("gandi",)}


def find_provider(text: str, *, providers: Collection[str]) -> str | None:
    """Return which of the providers a name means; None when it is another registrar, or unknown."""
    key = _key(text)
    return next((each for each in providers if key in _own_keys(each)), None) if key else None


def may_be(text: str, *, provider: str) -> bool:
    """Return whether a domain at the provider can be shown with this registrar."""
    key = _key(text)
    return key in _own_keys(provider) or key in _RESOLD.get(provider, ())


def label_of(provider: str) -> str:
    """Return the name of a provider for people."""
    adapter = ADAPTERS.get(provider)
    return provider.removeprefix(MANUAL) if adapter is None else adapter.profile.label


def _own_keys(provider: str) -> Collection[str]:
    return {_key(provider.removeprefix(MANUAL)), _key(label_of(provider)), *_ALIASES.get(provider, ())}


def _key(text: str) -> str:
    return _OTHER.sub("", _FORM.sub("", text.strip().lower()))
