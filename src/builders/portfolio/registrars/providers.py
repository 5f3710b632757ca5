"""The registrars: those that have an adapter, any other as `manual:NAME`, and the names that others give them."""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from builders.kit.process.discovery import load_classes
from builders.kit.values.suggestions import find_similar
from builders.portfolio.registrars import adapters
from builders.portfolio.registrars.adapter import Adapter
from builders.portfolio.registrars.errors import ProviderNotFound
from builders.portfolio.registrars.records import MANUAL, Capabilities, Environment, Profile, Quota

# By provider, which is the name of the module.
ADAPTERS: Mapping[str, type[Adapter]] = load_classes(adapters, Adapter)


def _hosts(environment: Environment) -> frozenset[str | None]:
    return frozenset(urlsplit(each.profile.base_urls.get(environment, "")).hostname for each in ADAPTERS.values())


_SANDBOX_HOSTS = _hosts(Environment.SANDBOX) - _hosts(Environment.LIVE)  # some sandboxes differ by the key only
_LIVE_DOMAINS = frozenset(domain for each in ADAPTERS.values() for domain in each.profile.live_domains)
_MANUAL_NAME = re.compile(r"[a-z0-9](?:[a-z0-9.-]{0,62}[a-z0-9])?")
_FORMS = r"llc|inc|ltd|limited|gmbh|sas|sarl|bv|ab|ag|co|corp|corporation|company|pty|plc|srl|sa"
# A registrar with several accreditations numbers them: Sav.com, LLC - 22.
_FORM = re.compile(rf"(?:[\s,.]+(?:{_FORMS})\b\.?)+(?:\s*-\s*[0-9]+|\s*\([0-9]+\))?\s*$")
_OTHER = re.compile(r"[^a-z0-9]+")


def get_profile(provider: str) -> Profile:
    """Return the profile of a registrar, named in any case. Raise ProviderNotFound."""
    name = provider.strip().lower()
    if name in ADAPTERS:
        return ADAPTERS[name].profile
    if name.startswith(MANUAL) and _MANUAL_NAME.fullmatch(name.removeprefix(MANUAL)):
        return Profile(
            provider=name,
            label=name.removeprefix(MANUAL),
            url=None,
            live_domains=(),
            credential_fields=(),
            capabilities=Capabilities(list=False, auto_renew=False, lock=False),
            quota=Quota(requests=1, window_s=1),
            dashboard_url=None,
            list_end="the import says so",
        )
    similar = find_similar(name, ADAPTERS)
    if similar:
        raise ProviderNotFound(f"There is no such registrar. Did you mean {similar}?", did_you_mean=similar)
    raise ProviderNotFound("There is no such registrar.")


def is_live_host(host: str) -> bool:
    """Return whether a host can be the production API of a registrar."""
    name = host.lower().rstrip(".")
    labels = name.split(".")
    domains = {".".join(labels[at:]) for at in range(len(labels))}
    return name not in _SANDBOX_HOSTS and not _LIVE_DOMAINS.isdisjoint(domains)


@dataclass(frozen=True, slots=True, kw_only=True)
class Meaning:
    """What the name of a registrar can mean."""

    provider: str | None  # None: another registrar, or unknown
    accepted: Collection[str]  # the providers whose domains can be shown with the name


def read_names(texts: Iterable[str], *, providers: Sequence[str]) -> Mapping[str, Meaning]:
    """Return what each name means among these providers; of several that it names, the first is meant."""
    own, resold = defaultdict[str, list[str]](list), defaultdict[str, list[str]](list)
    for provider in providers:
        profile = ADAPTERS[provider].profile if provider in ADAPTERS else None
        sites = profile.live_domains if profile else ()
        names = (provider, provider.removeprefix(MANUAL), label_of(provider), *sites)
        for key in {*map(_key, names), *(profile.aliases if profile else ())} - {""}:
            own[key].append(provider)
        for key in profile.resold if profile else ():
            resold[key].append(provider)
    keys = {text: _key(text) for text in texts}
    return {
        text: Meaning(
            provider=next(iter(own.get(key, ())), None), accepted={*own.get(key, ()), *resold.get(key, ())}
        )
        for text, key in keys.items()
    }


def load_dashboards(registrars: Collection[str]) -> Mapping[str, str]:
    """Return the website of each registrar that a name means, by that name; without the unknown ones."""
    profiles = {name: each.profile for name, each in ADAPTERS.items()}
    meanings = read_names(registrars, providers=list(profiles))
    found = {text: profiles[each.provider].dashboard_url for text, each in meanings.items() if each.provider}
    return {text: url for text, url in found.items() if url is not None}


def label_of(provider: str) -> str:
    """Return the name of a provider for people."""
    adapter = ADAPTERS.get(provider)
    return provider.removeprefix(MANUAL) if adapter is None else adapter.profile.label


def _key(text: str) -> str:
    return _OTHER.sub("", _FORM.sub("", text.strip().lower()))
