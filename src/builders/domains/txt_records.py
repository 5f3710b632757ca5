"""The TXT records that mail needs: parse and validate SPF (RFC 7208), DMARC and DKIM (RFC 6376). Never raises."""

import re
from base64 import b64decode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from builders.domains.records import RecordHealth

MAX_SHOWN = 5  # values of one record
MAX_SHOWN_LENGTH = 255  # characters of a value

SPF_VERSION = "v=spf1"
MAX_SPF_LENGTH = 450  # characters of a suggested record: a longer one may not fit into a packet (RFC 7208, 3.4)
MAX_SPF_LOOKUPS = 10  # terms with a DNS query (RFC 7208, 4.6.4); those of included records are not counted
_TERM = re.compile(
    r"(?P<qualifier>[+?~-]?)(?P<name>all|include|a|mx|ptr|ip4|ip6|exists)(?P<value>[:/].*)?|"
    r"(?P<modifier>[a-z][a-z0-9_.-]*)=(?P<set>.*)",
    re.IGNORECASE | re.DOTALL,
)
_LOOKUP_TERMS = {"include", "a", "mx", "ptr", "exists", "redirect"}
_NEEDS_VALUE = {"include", "exists", "ip4", "ip6"}

DMARC_VERSION = "DMARC1"
POLICIES = {"none", "quarantine", "reject"}
_TAG = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_PERCENT = re.compile(r"[0-9]{1,3}")
_DMARC = re.compile(r"\s*v\s*=\s*DMARC1\s*(?:;|\Z)")
SUGGESTED_DMARC = f"v={DMARC_VERSION}; p=none"


def shorten(values: Iterable[str]) -> tuple[str, ...]:
    """Return the first values, each on one line and of bounded length."""
    cut = (
        each if len(each) <= MAX_SHOWN_LENGTH else f"{each[: MAX_SHOWN_LENGTH - 3]}..."
        for each in islice(values, MAX_SHOWN)
    )
    return tuple("".join(char if char.isprintable() else "?" for char in each) for each in cut)


def txt_instruction(name: str, value: str) -> str:
    """Return the instruction to set a TXT record."""
    return f'Set a TXT record at {name} with the value "{value}".'


@dataclass(frozen=True, slots=True)
class Term:
    """A mechanism or a modifier of SPF."""

    qualifier: str  # empty: +
    name: str  # in lower case
    value: str  # without the colon; of `a/24` it begins with the slash
    text: str  # as written

    @property
    def includes(self) -> str | None:
        """Return the domain whose senders the term accepts."""
        is_include = self.name == "include" and self.qualifier in {"", "+"}
        return self.value.rstrip(".").lower() if is_include else None

    @property
    def redirects_to(self) -> str | None:
        """Return the domain whose record applies when no mechanism matches."""
        return self.value.rstrip(".").lower() if self.name == "redirect" else None


@dataclass(frozen=True, slots=True)
class Spf:
    """A parsed SPF record."""

    terms: tuple[Term, ...]
    error: str | None = None  # why it has no effect, or too much

    @property
    def effective_terms(self) -> tuple[Term, ...]:
        """Return the terms that receivers read: none after `all`, and no redirect beside it (RFC 7208, 6.1)."""
        ends = [at for at, term in enumerate(self.terms) if term.name == "all"]
        read = self.terms[: ends[0] + 1] if ends else self.terms
        return tuple(term for term in read if not (ends and term.name == "redirect"))


def is_spf(text: str) -> bool:
    """Return whether a TXT record is an SPF record."""
    return text[: len(SPF_VERSION)].lower() == SPF_VERSION and text[len(SPF_VERSION) :][:1] in {"", " "}


def parse_spf(text: str) -> Spf:
    """Parse an SPF record."""
    terms: list[Term] = []
    for word in text[len(SPF_VERSION) :].split(" "):
        # Terms are visible ASCII (RFC 7208, 12); no other text gets into a suggested record.
        term = _parse_term(word) if word.isascii() and word.isprintable() else None
        if term is not None:
            terms.append(term)
        elif word:
            return Spf(tuple(terms), "it has a term that is not defined for SPF")
    spf = Spf(tuple(terms))
    if sum(each.name in _LOOKUP_TERMS for each in terms) > MAX_SPF_LOOKUPS:
        return Spf(spf.terms, f"more than {MAX_SPF_LOOKUPS} of its terms query DNS")
    if any(each.name == "all" and each.qualifier in {"", "+"} for each in spf.effective_terms):
        return Spf(spf.terms, "it allows every host to send")
    return spf


def _parse_term(word: str) -> Term | None:
    match = _TERM.fullmatch(word)
    if match is None:
        return None
    if match["modifier"] is not None:
        return Term("", match["modifier"].lower(), match["set"], word)
    name, value = match["name"].lower(), (match["value"] or "").removeprefix(":")
    is_whole = bool(value) if name in _NEEDS_VALUE else not (name == "all" and value)
    return Term(match["qualifier"], name, value, word) if is_whole else None


def validate_spf(domain: str, texts: Sequence[str], *, include: str | None) -> tuple[RecordHealth, str | None]:
    """Return the health of the SPF record among the TXT records of a domain, and an instruction."""
    records = [parse_spf(each) for each in texts if is_spf(each)]
    wanted = f"{SPF_VERSION} include:{include} ~all"
    if len(records) > 1:
        merged = wanted if include else f"{SPF_VERSION} ... ~all"
        instruction = txt_instruction(domain, merged)
        return RecordHealth.WRONG, f"Keep only one SPF record: several records are invalid. {instruction}"
    if include is None:
        error = records[0].error if records else None
        without_error = RecordHealth.OK if records else RecordHealth.UNCHECKED
        return (RecordHealth.WRONG, f"Correct the SPF record: {error}.") if error else (without_error, None)
    if not records:
        return RecordHealth.MISSING, txt_instruction(domain, wanted)
    if records[0].error:
        return RecordHealth.WRONG, f"Correct the SPF record: {records[0].error}. {txt_instruction(domain, wanted)}"
    return _validate_include(domain, records[0], include=include)


def _validate_include(domain: str, record: Spf, *, include: str) -> tuple[RecordHealth, str | None]:
    if any(include in {term.includes, term.redirects_to} for term in record.effective_terms):
        return RecordHealth.OK, None
    wanted = add_include(record, include=include)
    if len(wanted) > MAX_SPF_LENGTH:
        return (
            RecordHealth.WRONG,
            f"Insert include:{include} before the last terms of the SPF record of {domain}.",
        )
    return RecordHealth.WRONG, f"Change the SPF record. {txt_instruction(domain, wanted)}"


def add_include(spf: Spf, *, include: str) -> str:
    """Return the record with one more include, before the terms that end the evaluation."""
    words = [term.text for term in spf.effective_terms if term.name not in {"all", "redirect"}]
    ends = [term.text for term in spf.effective_terms if term.name in {"all", "redirect"}]
    return " ".join((SPF_VERSION, *words, f"include:{include}", *(ends or ["~all"])))


def parse_tags(text: str) -> Mapping[str, str] | None:
    """Return the tags of a tag list in order, names in lower case; None for other text (RFC 6376, 3.2)."""
    tags: dict[str, str] = {}
    parts = text.split(";")
    for at, part in enumerate(parts):
        name, equals, value = (each.strip() for each in part.partition("="))
        if not part.strip() and at == len(parts) - 1:
            continue  # one semicolon is allowed at the end
        if not equals or not _TAG.fullmatch(name) or name.lower() in tags:
            return None
        tags[name.lower()] = value
    return tags


def is_dmarc(text: str) -> bool:
    """Return whether a TXT record is a DMARC record."""
    return _DMARC.match(text) is not None


def find_dmarc_error(text: str) -> str | None:
    """Return the reason why a DMARC record has no effect, or None."""
    tags = parse_tags(text)
    if tags is None:
        return "it is not a list of tag=value"
    if tags.get("p", "").lower() not in POLICIES:
        return "its p is not none, quarantine or reject"
    if tags.get("sp", "none").lower() not in POLICIES:
        return "its sp is not none, quarantine or reject"
    if not _PERCENT.fullmatch(tags.get("pct", "100")) or int(tags.get("pct", "100")) > 100:  # noqa: PLR2004 - percent
        return "its pct is not 0 to 100"
    reports = [each.strip() for tag in ("rua", "ruf") for each in tags.get(tag, "").split(",") if each.strip()]
    if any(not each.lower().startswith("mailto:") for each in reports):
        return "its rua or ruf is not mailto:address"
    return None


def validate_dmarc(domain: str, texts: Sequence[str], *, inherited: bool) -> tuple[RecordHealth, str | None]:
    """Return the health of the DMARC record among the TXT records at `_dmarc` of a domain, and an instruction.

    `inherited`: a parent domain has a record, which applies to this domain too.
    """
    name, records = f"_dmarc.{domain}", [each for each in texts if is_dmarc(each)]
    if len(records) > 1:
        return RecordHealth.WRONG, f"Keep only one DMARC record at {name}: several records are invalid."
    if not records:
        missing = (RecordHealth.MISSING, txt_instruction(name, SUGGESTED_DMARC))
        return (RecordHealth.OK, None) if inherited else missing
    error = find_dmarc_error(records[0])
    if error is not None:
        instruction = txt_instruction(name, SUGGESTED_DMARC)
        return RecordHealth.WRONG, f"Correct the DMARC record: {error}. {instruction}"
    return RecordHealth.OK, None


def validate_dkim(name: str, texts: Sequence[str], *, value: str) -> tuple[RecordHealth, str | None]:
    """Return the health of the DKIM key at a name, whose TXT record should have this value, and an instruction."""
    wanted = txt_instruction(name, value)
    if not texts:
        return RecordHealth.MISSING, wanted
    if len(texts) > 1:
        return RecordHealth.WRONG, f"{name} has several TXT records. {wanted}"
    key = dkim_key(texts[0])
    if key is None:
        return RecordHealth.WRONG, f"The record at {name} has no key. {wanted}"
    if key != dkim_key(value):
        return RecordHealth.WRONG, f"The key at {name} is not the key that signs mail of the domain. {wanted}"
    return RecordHealth.OK, None


def dkim_key(text: str) -> str | None:
    """Return the public key of a DKIM record (RFC 6376, 3.6.1); None without one, and for a revoked one."""
    tags = parse_tags(text)
    if tags is None or tags.get("v", "DKIM1") != "DKIM1" or tags.get("k", "rsa").lower() not in {"rsa", "ed25519"}:
        return None
    key = "".join(tags.get("p", "").split())
    try:
        b64decode(key, validate=True)
    except ValueError:
        return None
    return key or None
