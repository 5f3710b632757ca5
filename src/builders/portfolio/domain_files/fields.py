"""Values of single fields, read from the text of their cells."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from builders.kit.sheets import cells, dates
from builders.kit.sheets.cells import BLANK, CellRefused, shown
from builders.kit.sheets.dates import DateFormat
from builders.kit.values import domain_names, texts
from builders.portfolio.domain_files.formats import PURCHASE_KINDS, STATUSES, words_of
from builders.portfolio.domain_files.records import Field
from builders.portfolio.domains.records import (
    MAX_NAMESERVERS,
    MAX_NOTES,
    MAX_STATUSES,
    MAX_TAG,
    MAX_TAGS,
    MAX_TEXT,
    ExpirySource,
    Ownership,
    PortfolioDomainStatus,
)
from builders.portfolio.ledger.records import MAX_YEARS, EntryKind

_STATUS_WORDS = words_of(STATUSES)
_PURCHASE_WORDS = words_of(PURCHASE_KINDS)
_SEPARATORS = re.compile(r"[\s,;|]+")
_TAG_SEPARATORS = re.compile(r"[,;|\n]+")
_EPP_STATUS = re.compile(
    r"(?:add|autoRenew|renew|transfer|redemption)Period|inactive|ok|pending(?:Create|Delete|Renew|Restore|Transfer|Update)"
    r"|(?:client|server)(?:Hold|(?:Delete|Renew|Transfer|Update)Prohibited)",
    re.IGNORECASE,
)
Reader = Callable[[str], Any]  # raises CellRefused; None for a blank cell


def _text(limit: int, clean: Callable[[str], str]) -> Reader:
    def read(cell: str) -> str | None:
        text = cell.strip()
        if len(text) > limit:
            raise CellRefused("text_too_long", f"The text has {len(text)} characters. Shorten it to {limit}.")
        return _cleaned(text, clean) or None

    return read


def _cleaned(text: str, clean: Callable[[str], str]) -> str:
    try:
        return clean(text)
    except ValueError as error:
        raise CellRefused("text_form", f"{error} Write it without them.") from None


def _choice(words: Mapping[str, str], code: str) -> Reader:
    def read(cell: str) -> str | None:
        text = " ".join(cell.split()).lower()
        if text in BLANK:
            return None
        if text not in words:
            choices = ", ".join(dict.fromkeys(words.values()))
            raise CellRefused(code, f"{shown(cell)} is not a known value. Write one of: {choices}.")
        return words[text]

    return read


def _tags(cell: str) -> Sequence[str] | None:
    found = dict.fromkeys(" ".join(each.split()).lower() for each in _TAG_SEPARATORS.split(cell))
    tags = [_cleaned(each, texts.one_line) for each in found if each]
    if len(tags) > MAX_TAGS:
        raise CellRefused("too_many_tags", f"A domain has at most {MAX_TAGS} tags; the cell has {len(tags)}.")
    long = next((each for each in tags if len(each) > MAX_TAG), None)
    if long is not None:
        raise CellRefused(
            "text_too_long", f"The tag {shown(long)} is too long. Shorten it to {MAX_TAG} characters."
        )
    return tags or None


def _nameservers(cell: str) -> Sequence[str] | None:
    written = [each for each in _SEPARATORS.split(cell) if each and each.lower() not in BLANK]
    found = dict[str, None]()
    for each in written:
        host = domain_names.find_a_label(each)
        if host is None:
            raise CellRefused("nameserver_invalid", f"{shown(each)} is not a host name. Write ns1.harbour.com.")
        found[host] = None
    if len(found) > MAX_NAMESERVERS:
        raise CellRefused("too_many_nameservers", f"A domain has at most {MAX_NAMESERVERS} name servers.")
    return list(found) or None


def _epp_statuses(cell: str) -> Sequence[str] | None:
    """Return the EPP statuses in the cell; vendors add their own, which are ignored."""
    found = [each for each in _SEPARATORS.split(cell) if _EPP_STATUS.fullmatch(each)]
    return list(dict.fromkeys(found))[:MAX_STATUSES] or None


def _words(choices: type[PortfolioDomainStatus | Ownership | ExpirySource]) -> Mapping[str, str]:
    return {each.value: each.value for each in choices}


def field_readers(date_format: DateFormat) -> Mapping[Field, Reader]:
    """Return the reader of each field that is neither the domain nor an amount."""
    status, ownership = _choice(_STATUS_WORDS, "status_unknown"), _choice(_words(Ownership), "ownership_unknown")
    expiry_source = _choice(_words(ExpirySource), "expiry_source_unknown")
    return {
        Field.STATUS: lambda cell: _enum(PortfolioDomainStatus, status(cell)),
        Field.OWNERSHIP: lambda cell: _enum(Ownership, ownership(cell)),
        Field.COUNTERPARTY: _text(MAX_TEXT, texts.one_line),
        Field.REVENUE_SHARE: cells.read_percent,
        Field.REGISTRAR: _text(MAX_TEXT, texts.one_line),
        Field.REGISTERED_ON: lambda cell: dates.read_date(cell, date_format),
        Field.ACQUIRED_ON: lambda cell: dates.read_date(cell, date_format),
        Field.EXPIRES_AT: lambda cell: dates.read_moment(cell, date_format),
        Field.EXPIRY_SOURCE: lambda cell: _enum(ExpirySource, expiry_source(cell)),
        Field.AUTO_RENEW: cells.read_flag,
        Field.LOCKED: cells.read_flag,
        Field.PRIVACY: cells.read_flag,
        Field.NAMESERVERS: _nameservers,
        Field.EPP_STATUSES: _epp_statuses,
        Field.TAGS: _tags,
        Field.FOLDER: _text(MAX_TEXT, texts.one_line),
        Field.NOTES: _text(MAX_NOTES, texts.cleaned),
        Field.PINNED: cells.read_flag,
    }


def purchase_readers(date_format: DateFormat) -> Mapping[Field, Reader]:
    """Return the readers of the fields of a purchase or a sale, without amounts."""
    kind = _choice(_PURCHASE_WORDS, "purchase_kind_unknown")
    return {
        Field.PURCHASE_KIND: lambda cell: _enum(EntryKind, kind(cell)),
        Field.PURCHASE_DATE: lambda cell: dates.read_date(cell, date_format),
        Field.PURCHASE_YEARS: lambda cell: cells.read_number(cell, maximum=MAX_YEARS),
        Field.SALE_DATE: lambda cell: dates.read_date(cell, date_format),
    }


def _enum(choices: Callable[[str], Any], value: str | None) -> Any:
    return None if value is None else choices(value)


DATES = (
    *(Field.REGISTERED_ON, Field.ACQUIRED_ON, Field.EXPIRES_AT),
    *(Field.PURCHASE_DATE, Field.SALE_DATE),
)
# Left out with a warning when they cannot be read: each vendor has its own words for them.
LENIENT = frozenset({Field.STATUS, Field.PURCHASE_KIND, Field.EPP_STATUSES})
