"""SPF records (RFC 7208) as they are read and judged. Pure; no text makes it raise."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from builders.domains.records import RecordHealth
from builders.domains.wording import txt_instruction

SPF_VERSION = "v=spf1"
MAX_SPF_LENGTH = (
    450  # characters of a record that we write; a longer one may not fit into a packet (RFC 7208, 3.4)
)
MAX_SPF_LOOKUPS = 10  # of terms that ask DNS (RFC 7208, 4.6.4); deeper ones are not counted here
_TERM = re.compile(
    r"(?P<qualifier>[+?~-]?)(?P<name>all|include|a|mx|ptr|ip4|ip6|exists)(?P<value>[:/].*)?|"
    r"(?P<modifier>[a-z][a-z0-9_.-]*)=(?P<set>.*)",
    re.IGNORECASE | re.DOTALL,
)
_LOOKUP_TERMS = {"include", "a", "mx", "ptr", "exists", "redirect"}
_NEEDS_VALUE = {"include", "exists", "ip4", "ip6"}


@dataclass(frozen=True, slots=True)
class Term:
    """A mechanism or a modifier."""

    qualifier: str  # empty: +
    name: str  # in lower case
    value: str  # without the colon; of `a/24` it begins with the slash
    text: str  # as it is written

    @property
    def includes(self) -> str | None:
        """The domain whose senders pass by it."""
        is_include = self.name == "include" and self.qualifier in {"", "+"}
        return self.value.rstrip(".").lower() if is_include else None

    @property
    def leads(self) -> str | None:
        """The domain whose record holds where no mechanism matches."""
        return self.value.rstrip(".").lower() if self.name == "redirect" else None


@dataclass(frozen=True, slots=True)
class Spf:
    """A record that was read."""

    terms: tuple[Term, ...]
    flaw: str | None = None  # what makes it count for nothing, or for too much

    @property
    def heard(self) -> tuple[Term, ...]:
        """The terms that are looked at: none behind `all`, and no redirect beside it (RFC 7208, 6.1)."""
        ends = [at for at, term in enumerate(self.terms) if term.name == "all"]
        heard = self.terms[: ends[0] + 1] if ends else self.terms
        return tuple(term for term in heard if not (ends and term.name == "redirect"))


def is_spf(text: str) -> bool:
    """Whether a TXT record means to be one."""
    return text[: len(SPF_VERSION)].lower() == SPF_VERSION and text[len(SPF_VERSION) :][:1] in {"", " "}


def parse_spf(text: str) -> Spf:
    """A record that `is_spf`."""
    terms: list[Term] = []
    for word in text[len(SPF_VERSION) :].split(" "):
        # Terms are of visible ASCII (RFC 7208, 12); what a record holds besides is never written again.
        term = _read_term(word) if word.isascii() and word.isprintable() else None
        if term is not None:
            terms.append(term)
        elif word:
            return Spf(tuple(terms), "it has a term that SPF does not know")
    spf = Spf(tuple(terms))
    if sum(each.name in _LOOKUP_TERMS for each in terms) > MAX_SPF_LOOKUPS:
        return Spf(spf.terms, f"more than {MAX_SPF_LOOKUPS} of its terms ask DNS")
    if any(each.name == "all" and each.qualifier in {"", "+"} for each in spf.heard):
        return Spf(spf.terms, "it lets everybody send")
    return spf


def _read_term(word: str) -> Term | None:
    match = _TERM.fullmatch(word)
    if match is None:
        return None
    if match["modifier"] is not None:
        return Term("", match["modifier"].lower(), match["set"], word)
    name, value = match["name"].lower(), (match["value"] or "").removeprefix(":")
    is_whole = bool(value) if name in _NEEDS_VALUE else not (name == "all" and value)
    return Term(match["qualifier"], name, value, word) if is_whole else None


def validate_spf(domain: str, texts: Sequence[str], *, include: str | None) -> tuple[RecordHealth, str | None]:
    """What is to be said of the TXT records of a domain, and what to do."""
    found = [parse_spf(each) for each in texts if is_spf(each)]
    wanted = f"{SPF_VERSION} include:{include} ~all"
    if len(found) > 1:
        merged = wanted if include else f"{SPF_VERSION} ... ~all"
        return (
            RecordHealth.WRONG,
            f"Keep one SPF record: with several none counts. {txt_instruction(domain, merged)}",
        )
    if include is None:
        flaw = found[0].flaw if found else None
        unflawed = RecordHealth.OK if found else RecordHealth.UNCHECKED
        return (RecordHealth.WRONG, f"Put the SPF record right: {flaw}.") if flaw else (unflawed, None)
    if not found:
        return RecordHealth.MISSING, txt_instruction(domain, wanted)
    if found[0].flaw:
        return RecordHealth.WRONG, f"Put the SPF record right: {found[0].flaw}. {txt_instruction(domain, wanted)}"
    return _validate_include(domain, found[0], include=include)


def _validate_include(domain: str, found: Spf, *, include: str) -> tuple[RecordHealth, str | None]:
    if any(include in {term.includes, term.leads} for term in found.heard):
        return RecordHealth.OK, None
    wanted = add_include(found, include=include)
    if len(wanted) > MAX_SPF_LENGTH:
        return RecordHealth.WRONG, f"Put include:{include} in front of what ends the SPF record of {domain}."
    return RecordHealth.WRONG, f"Change the SPF record. {txt_instruction(domain, wanted)}"


def add_include(spf: Spf, *, include: str) -> str:
    """The record with an include more, in front of what would end the search."""
    words = [term.text for term in spf.heard if term.name not in {"all", "redirect"}]
    ends = [term.text for term in spf.heard if term.name in {"all", "redirect"}]
    return " ".join((SPF_VERSION, *words, f"include:{include}", *(ends or ["~all"])))
