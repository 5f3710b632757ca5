"""Which registrar a person, a file or a registry means by a name such as `GoDaddy.com, LLC`."""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Meaning:
    """What the name of a registrar can mean."""

    provider: str | None  # None: another registrar, or unknown
    accepted: Collection[str]  # the providers whose domains can be shown with the name


def read_names(texts: Iterable[str], *, providers: Sequence[str]) -> Mapping[str, Meaning]:
    """Return what each name means among these providers; of several that it names, the first is meant."""
    own, resold = defaultdict[str, list[str]](list), defaultdict[str, list[str]](list)
    for provider in providers:
        for key in _own_keys(provider) - {""}:
            own[key].append(provider)
        for key in _RESOLD.get(provider, ()):
            resold[key].append(provider)
    keys = {text: _key(text) for text in texts}
    return {
        text: Meaning(
            provider=next(iter(own.get(key, ())), None), accepted={*own.get(key, ()), *resold.get(key, ())}
        )
        for text, key in keys.items()
    }


def label_of(provider: str) -> str:
    """Return the name of a provider for people."""
    adapter = ADAPTERS.get(provider)
    return provider.removeprefix(MANUAL) if adapter is None else adapter.profile.label


def _own_keys(provider: str) -> set[str]:
    return {_key(provider.removeprefix(MANUAL)), _key(label_of(provider)), *_ALIASES.get(provider, ())}


def _key(text: str) -> str:
    return _OTHER.sub("", _FORM.sub("", text.strip().lower()))
