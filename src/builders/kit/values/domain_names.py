"""Domain names: their stored form, the lower-case A-label (RFC 5890), and the names for special use."""

import re
import unicodedata
from typing import Annotated

import idna
from pydantic import Field

DomainName = Annotated[str, Field(title="DomainName")]  # of a reply; a schema of the OpenAPI document

# A name of ASCII letters, digits and hyphens (RFC 1123, 2.1) that idna does not change: IDNA reserves two hyphens
# in the third and fourth place, and a last label of digits is part of an IP address.
_LABEL = r"(?!..--)[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_PLAIN = re.compile(rf"(?:{_LABEL}\.)+(?![0-9]+\Z){_LABEL}")
_LABELS = re.compile(r"(?:[a-z0-9-]{1,63}\.)+(?![0-9]+\Z)[a-z0-9-]{1,63}")
MAX_OCTETS = 253  # RFC 1035, 2.3.4, in the written form
_MAX_WRITTEN = 1024  # characters; idna is slow for long text


def find_a_label(text: str) -> str | None:
    """Return the lower-case A-label of a domain in either form; None if it is no domain of two or more labels.

    UTS 46 mapping, then IDNA 2008 (RFC 5891); one dot at the end is removed. A name with an underscore is not a
    domain. Emoji, which IDNA 2008 excludes, are allowed below EMOJI_DOMAINS.
    """
    written = text.strip().removesuffix(".")
    if len(written) > _MAX_WRITTEN:
        return None
    name = written.lower()
    if not _PLAIN.fullmatch(name):
        try:  # not the lower-case form: str.lower changes a final sigma, UTS 46 does not
            name = idna.encode(written, uts46=True, std3_rules=True).decode("ascii").removesuffix(".")
        except UnicodeError:
            if (found := _find_emoji_name(written)) is None:
                return None
            name = found
    return name if len(name) <= MAX_OCTETS and _LABELS.fullmatch(name) else None


def unicode_of(domain: str) -> str:
    """Return the domain in Unicode; unchanged when it has no internationalized label."""
    if "xn--" not in domain:
        return domain
    try:
        return idna.decode(domain)
    except UnicodeError:
        return ".".join(map(_shown_label, domain.split(".")))


# Country codes whose registries accept emoji in names, though IDNA 2008 excludes them: ccNSO Study Group on the
# use of emoji in second level domains, "Report and Findings", September 2019 (its list in domainincite.com of
# 2019-10-28, read 2026-11-22). ICANN excludes them below generic domains.
EMOJI_DOMAINS = frozenset(
    ("az", "cf", "fm", "je", "ga", "ge", "gg", "gq", "ml", "st", "to", "tk", "uz", "vu", "ws")
)
# Symbols, skin tones, the joiner of sequences, and the frame of a keycap; UTS 46 removes variation selectors.
_EMOJI_MODIFIERS = re.compile("[\U0001f3fb-\U0001f3ff\u200d\u20e3]")
_PREFIX = "xn--"


def _find_emoji_name(written: str) -> str | None:
    """Return the A-label of a name with emoji in either form; None without one, or if its registry allows none."""
    try:
        mapped = idna.uts46_remap(written, True, False)
        if mapped.rpartition(".")[2] not in EMOJI_DOMAINS:
            return None
        readable = idna.uts46_remap(".".join(map(_shown_label, mapped.split("."))), True, False)
        labels = [_emoji_label(each) for each in readable.split(".")]
    except UnicodeError:
        return None
    name = ".".join(labels)
    return name if _PREFIX in name and (name == written.lower() or not written.isascii()) else None


def _shown_label(label: str) -> str:
    """Return a label in Unicode. Raise UnicodeError."""
    return label[len(_PREFIX) :].encode("ascii").decode("punycode") if label.startswith(_PREFIX) else label


def _emoji_label(label: str) -> str:
    """Return the A-label of a label whose characters are emoji or allowed by IDNA 2008. Raise UnicodeError."""
    if label.isascii() or label.startswith("-") or label.endswith("-"):
        return idna.encode(label).decode("ascii")
    others = "".join(each for each in _EMOJI_MODIFIERS.sub("", label) if unicodedata.category(each) != "So")
    if others.strip("-"):
        idna.encode(others.strip("-"))
    return _PREFIX + label.encode("punycode").decode("ascii")


# Names without an owner on the internet: resolved locally, differently, or not at all. `example` (RFC 6761) is
# missing because the documentation and the demo use it.
_RFC_6761 = "RFC 6761, IANA Special-Use Domain Names"
_MDNS_G = "RFC 6762, appendix G: private top-level names in use"
_ICANN_2018 = "ICANN Board, 2018-02-04: delegation deferred indefinitely"
SPECIAL_NAMES = {
    "alt": "RFC 9476",
    "arpa": "RFC 3172; with home.arpa (RFC 8375) and the reverse zones of RFC 6761",
    "corp": f"{_ICANN_2018}; {_MDNS_G}",
    "home": f"{_ICANN_2018}; {_MDNS_G}",
    "internal": "ICANN Board, 2024-07-29: reserved for private use",
    "intranet": _MDNS_G,
    "invalid": _RFC_6761,
    "lan": _MDNS_G,
    "local": "RFC 6762",
    "localdomain": "the customary name of a local machine's domain, as in localhost.localdomain",
    "localhost": _RFC_6761,
    "mail": _ICANN_2018,
    "onion": "RFC 7686",
    "private": _MDNS_G,
    "svc": "Kubernetes: names of services inside a cluster",
    "test": _RFC_6761,
}


def is_special_use(name: str) -> bool:
    """Return whether a lower-case A-label is a name for special use, or below one."""
    return name.removesuffix(".").rpartition(".")[2] in SPECIAL_NAMES
