"""RDAP data of a domain (RFC 9083), and the server to query (RFC 9224). Pure; raises only RdapUnreadable.

`registrar expiration` is preferred to `expiration`: registries add a year to theirs as soon as a domain expires,
and take it back when the registrar deletes the domain in the grace period.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any, TypeAlias

from pydantic_core import to_jsonable_python

from builders.kit.values.domain_names import find_a_label
from builders.portfolio.domains.fields import MAX_NAMESERVERS, MAX_TEXT
from builders.portfolio.domains.records import MAX_STATUSES, Domain, DomainPatch, ExpirySource, RegistryCheck
from builders.portfolio.domains.today import Today

Json: TypeAlias = Any  # a value of a JSON text

EXPIRIES = ("registrar expiration", "expiration")  # the better one first
# Of RFC 8056; every other status is the same in words.
_STATUSES = {"active": "ok", "associated": "linked"}
_STATUS = re.compile(r"[a-z]+(?: [a-z]+){0,5}")
_LOCKS = {"clientTransferProhibited", "serverTransferProhibited"}
_YEARS = range(1980, 2200)


class RdapUnreadable(Exception):
    """The text is not an RDAP answer of the expected kind."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistryFacts:
    """The data of a registry about a domain. None and empty: not reported."""

    expires_at: datetime | None
    registered_at: datetime | None
    transferred_at: datetime | None  # to another registrar, the last time
    registrar: str | None
    statuses: Sequence[str]  # as EPP writes them
    nameservers: Sequence[str]

    @property
    def registered_on(self) -> date | None:
        """Return the day of the registration."""
        return None if self.registered_at is None else self.registered_at.date()

    @property
    def locked(self) -> bool | None:
        """Return whether transfers are locked."""
        return None if not self.statuses else not _LOCKS.isdisjoint(self.statuses)

    def stored(self) -> Mapping[str, Json]:
        """Return the facts that a user can set too, and the times of events, as JSON."""
        names = ("registered_on", "registered_at", "transferred_at", "registrar", "locked", "nameservers")
        facts: Mapping[str, Json] = to_jsonable_python({name: getattr(self, name) for name in names})
        return facts


def read_services(body: bytes) -> Mapping[str, str]:
    """Return the base URL of the server of each top-level domain. Raise RdapUnreadable."""
    services = _member(_parse(body), "services")
    servers: dict[str, str] = {}
    for service in services if isinstance(services, list) else ():
        match service:
            case [list() as names, list() as urls]:
                url = next((each for each in urls if isinstance(each, str) and each.startswith("https:")), None)
                url = url or next((each for each in urls if isinstance(each, str)), None)
                if url is not None:
                    names_read = [each.lower() for each in names if isinstance(each, str)]
                    servers |= dict.fromkeys(names_read, url if url.endswith("/") else f"{url}/")
    if not servers:
        raise RdapUnreadable("The list has no servers.")
    return servers


def read_domain(body: bytes, *, domain: str) -> RegistryFacts:
    """Return the data of a response about a domain.

    Raise RdapUnreadable, also for a response about another domain.
    """
    answer = _parse(body)
    name = _member(answer, "ldhName")
    if _member(answer, "objectClassName") != "domain" or not isinstance(name, str) or find_a_label(name) != domain:
        raise RdapUnreadable("The response is for another domain.")
    events = dict(_read_events(answer))
    written = (each.strip().lower() for each in _list(answer, "status") if isinstance(each, str))
    statuses = [_status(each) for each in written if _STATUS.fullmatch(each)]
    servers = (_member(each, "ldhName") for each in _list(answer, "nameservers"))
    hosts = (find_a_label(each) for each in servers if isinstance(each, str))
    return RegistryFacts(
        expires_at=next((events[each] for each in EXPIRIES if each in events), None),
        registered_at=events.get("registration"),
        transferred_at=events.get("transfer"),
        registrar=_find_registrar(answer),
        statuses=statuses[:MAX_STATUSES],
        nameservers=list(dict.fromkeys(host for host in hosts if host is not None))[:MAX_NAMESERVERS],
    )


def patch_of(domain: Domain, facts: RegistryFacts, *, before: Mapping[str, Json], today: Today) -> DomainPatch:
    """Return the fields from the registry, without fields from a user or a registrar.

    `before` is the previous registry data: a field that still has that value is from the registry. Another time of
    the same day is no change.
    """
    expires_at, known = facts.expires_at, domain.expires_at
    if expires_at is not None and known is not None and today.is_same_day(known, expires_at):
        expires_at = known
    present = {
        "registered_on": None if domain.registered_on is None else domain.registered_on.isoformat(),
        "registrar": domain.registrar,
        "locked": domain.locked,
        "nameservers": list(domain.nameservers),
    }
    may_fill = {name: value in (None, [], before.get(name)) for name, value in present.items()}
    is_own_expiry = domain.expiry_source in {None, ExpirySource.RDAP}
    members = {
        "expires_at": expires_at if is_own_expiry else None,
        "expiry_source": ExpirySource.RDAP if is_own_expiry and expires_at else None,
        **{name: getattr(facts, name) if fills else None for name, fills in may_fill.items()},
        "epp_statuses": facts.statuses,
    }
    return DomainPatch({name: value for name, value in members.items() if value not in (None, [])})


def read_check(checked_at: datetime | None, facts: Mapping[str, Json]) -> RegistryCheck:
    """Return the times that were stored of an answer."""
    names = ("registered_at", "transferred_at")
    times = {name: datetime.fromisoformat(facts[name]) for name in names if facts.get(name) is not None}
    return RegistryCheck(checked_at=checked_at, **times)


def _parse(body: bytes) -> Json:
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as error:
        raise RdapUnreadable("It is not JSON.") from error


def _member(value: Json, name: str) -> Json:
    return value.get(name) if isinstance(value, dict) else None


def _list(value: Json, name: str) -> Iterator[Json]:
    found = _member(value, name)
    yield from found if isinstance(found, list) else ()


def _read_events(answer: Json) -> Iterator[tuple[str, datetime]]:
    for event in _list(answer, "events"):
        action, moment = _member(event, "eventAction"), _member(event, "eventDate")
        if isinstance(action, str) and isinstance(moment, str):
            try:
                read = datetime.fromisoformat(moment.strip())
            except ValueError:
                continue
            if read.year in _YEARS:
                yield action.strip().lower(), read.replace(tzinfo=read.tzinfo or UTC).astimezone(UTC)


def _status(words: str) -> str:
    """Return the words of a status as EPP writes it."""
    first, *others = words.split()
    status = "".join((first, *(each.title() for each in others)))
    return _STATUSES.get(status, status)


def _find_registrar(answer: Json) -> str | None:
    """Return the formatted name in the jCard (RFC 7095) of the registrar."""
    for entity in _list(answer, "entities"):
        match _member(entity, "vcardArray"):
            case ["vcard", list() as properties] if "registrar" in _list(entity, "roles"):
                for each in properties:
                    match each:
                        case ["fn", _, _, str() as name] if name.strip().isprintable() and name.strip():
                            return name.strip()[:MAX_TEXT]
    return None
