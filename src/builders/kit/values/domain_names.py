"""Domain names: their stored form, the lower-case A-label (RFC 5890), and the names for special use."""

import re

import idna

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
    domain.
    """
    written = text.strip().removesuffix(".")
    if len(written) > _MAX_WRITTEN:
        return None
    name = written.lower()
    if not _PLAIN.fullmatch(name):
        try:  # not the lower-case form: str.lower changes a final sigma, UTS 46 does not
            name = idna.encode(written, uts46=True, std3_rules=True).decode("ascii").removesuffix(".")
        except UnicodeError:
            return None
    return name if len(name) <= MAX_OCTETS and _LABELS.fullmatch(name) else None


def unicode_of(domain: str) -> str:
    """Return the domain in Unicode; unchanged when it has no internationalized label."""
    return idna.decode(domain) if "xn--" in domain else domain


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
