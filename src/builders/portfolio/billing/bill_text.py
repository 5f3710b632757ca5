"""The text of bills: names of domains, in a field or in a description, and years."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice, pairwise

from builders.kit.values import domain_names
from builders.portfolio.billing.records import MAX_YEARS
from builders.portfolio.domains import names as portfolio_domain_names
from builders.portfolio.domains.errors import NameInvalid

_DOTS = ".\u3002\uff0e\uff61"  # UTS 46 maps the last three to the first
_LABEL = r"[^\W_](?:[\w-]{0,61}[^\W_])?"
# The host after "@" belongs to an email address.
_HOST = re.compile(rf"(?<![@\w.-]){_LABEL}(?:[{_DOTS}]{_LABEL})+(?![\w@-])")
_SEPARATORS = re.compile(r"[\s,;|/&+]*(?:and\s+)?", re.IGNORECASE)
_WORD = re.compile(_LABEL)
MAX_NAMES = 100  # of a field or a description
MAX_READ = 5_000  # characters of a field or a description
_MAX_HOST = 1_000  # characters; a longer one is no domain
_MIN_LABEL = 3  # characters of a name without a suffix
_MAX_LABELS = 20  # words of a description that are looked up as such names
_YEARS = re.compile(
    r"(?<![\d.])(?P<years>\d{1,2})[\s-]*(?:years?|yrs?|yr\(s\)|year\(s\)|jahre?|ans?|años?)(?![a-z])",
    re.IGNORECASE,
)
_MONTHS = re.compile(r"(?<![\d.])(?P<months>\d{1,3})[\s-]*(?:months?|mos?|monate?|mois)(?![a-z])", re.IGNORECASE)
_YEAR = 12  # months
# Words of bills, which name no domain on their own.
_COMMON = frozenset(
    (
        *("and", "annual", "auto", "automatic", "billing", "charge", "com", "create", "created"),
        *("credit", "customer", "date", "discount", "dns", "domain", "domains", "fee", "fees"),
        *("for", "from", "hosting", "icann", "invoice", "item", "line", "months", "name"),
        *("net", "order", "org", "payment", "premium", "price", "privacy", "product", "protection"),
        *("purchase", "qty", "quantity", "redemption", "refund", "refunded", "register"),
        *("registered", "registration"),
        *("renew", "renewal", "renewed", "restore", "restoration", "sales", "service", "ssl", "standard"),
        *("subtotal", "tax", "taxes", "term", "the", "total", "transaction", "transfer", "transferred"),
        *("usd", "vat", "whois", "with", "year", "years"),
    )
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """The domains that a line names, as A-labels; the likeliest first."""

    field: str | None = None  # of a field of its own
    text: Sequence[str] = ()  # in the description
    labels: Sequence[str] = ()  # words that can be a name without its suffix

    @property
    def best(self) -> str | None:
        """Return the likeliest domain."""
        return self.field or next(iter(self.text), None)


def read_names(raw: str | None, description: str) -> Names:
    """Return the domains that a line names: in the field `raw`, else in the description."""
    description = description[:MAX_READ]
    raw = None if raw is None else raw[:MAX_READ]
    name = None if raw is None else find_name(raw)
    if name is not None:
        return Names(field=name)
    hosts = (*list_hosts(raw or ""), *list_hosts(description))
    named = dict.fromkeys(found for each in hosts if (found := find_name(each)))
    if named:
        return Names(text=sorted(named, key=lambda each: -len(each))[:MAX_NAMES])
    words = dict.fromkeys(each.group().lower() for each in _WORD.finditer(raw or description))
    wanted = [each for each in words if len(each) >= _MIN_LABEL and each not in _COMMON and not each.isdecimal()]
    labels = [domain_names.find_a_label(f"{each}.com") for each in wanted[:_MAX_LABELS]]
    return Names(labels=[each.removesuffix(".com") for each in labels if each is not None])


def list_hosts(text: str) -> Sequence[str]:
    """Return what is written as a host in a text, in its sequence."""
    return [each.group() for each in islice(_HOST.finditer(text[:MAX_READ]), MAX_NAMES)]


def find_name(text: str) -> str | None:
    """Return the registered domain of a name or a host in either form; None when it is none."""
    host = text.strip().strip(_DOTS).lower()
    host = host.removeprefix("www.") if host.count(".") > 1 else host
    if not 0 < len(host) <= _MAX_HOST or any(each.isspace() for each in host):
        return None
    try:
        return portfolio_domain_names.parse_name(host).domain
    except NameInvalid as invalid:
        return invalid.did_you_mean


def join_name(name: str, suffix: str) -> str:
    """Return the domain of a name and a suffix, which may start with a dot."""
    ending = suffix.strip().strip(_DOTS).lower()
    start = name.strip().strip(_DOTS)
    if not start or not ending or start.lower().endswith(f".{ending}"):
        return start
    return f"{start}.{ending}"


def split_field(raw: str) -> Sequence[str]:
    """Return the names of a field that lists several; the field itself when it lists none, or too many."""
    if len(raw) > MAX_READ:
        return [raw.strip()]
    parts = [each for each in re.split(r"[\s,;|/&+]+", raw.strip()) if each]
    if len(parts) > MAX_NAMES + 1:
        return [raw.strip()]
    named = list(dict.fromkeys(each for each in parts if find_name(each)))
    return named if 1 < len(named) <= MAX_NAMES and len(named) >= len(parts) - 1 else [raw.strip()]


def list_names(description: str) -> Sequence[str]:
    """Return the names of a description that lists several next to each other; none for any other description."""
    hosts = list(islice(_HOST.finditer(description[:MAX_READ]), MAX_NAMES + 1))
    if not 1 < len(hosts) <= MAX_NAMES:
        return ()
    named = [(each, name) for each in hosts if (name := find_name(each.group()))]
    found, names = [each for each, _ in named], list(dict.fromkeys(name for _, name in named))
    if len(names) < 2:  # noqa: PLR2004 - several
        return ()
    gaps = [description[before.end() : after.start()] for before, after in pairwise(found)]
    return names if all(_SEPARATORS.fullmatch(gap) for gap in gaps) else ()


def read_years(text: str) -> int | None:
    """Return the years that a text names, also as months; None without any."""
    if found := _YEARS.search(text):
        years = int(found["years"])
    elif found := _MONTHS.search(text):
        years, rest = divmod(int(found["months"]), _YEAR)
        years = 0 if rest else years
    else:
        return None
    return years if 1 <= years <= MAX_YEARS else None
