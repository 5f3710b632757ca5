"""Names of domains: one stored form, the lower-case A-label (RFC 5890), whichever form a person writes."""

import re

import idna

# A name of ASCII letters, digits and hyphens (RFC 1123, 2.1) whose labels idna would give back unchanged: two
# hyphens in the third and fourth place are IDNA's own, and a last label of digits would be an IP address.
_LABEL = r"(?!..--)[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_PLAIN = re.compile(rf"(?:{_LABEL}\.)+(?![0-9]+\Z){_LABEL}")
_LABELS = re.compile(r"(?:[a-z0-9-]{1,63}\.)+(?![0-9]+\Z)[a-z0-9-]{1,63}")
MAX_OCTETS = 253  # RFC 1035, 2.3.4, in the written form
_MAX_WRITTEN = 1024  # characters; longer is not worth idna's time


def find_a_label(text: str) -> str | None:
    """The lower-case A-label of a domain written in either form; None for what is no domain of two labels.

    UTS 46 mapping, then IDNA 2008 (RFC 5891); one dot at the end is dropped. An underscore is a host of
    another kind, not a domain.
    """
    written = text.strip().removesuffix(".")
    if len(written) > _MAX_WRITTEN:
        return None
    name = written.lower()
    if not _PLAIN.fullmatch(name):
        try:  # not the lower-case form: str.lower makes a sigma at the end another letter, UTS 46 does not
            name = idna.encode(written, uts46=True, std3_rules=True).decode("ascii").removesuffix(".")
        except UnicodeError:
            return None
    return name if len(name) <= MAX_OCTETS and _LABELS.fullmatch(name) else None


def unicode_of(domain: str) -> str:
    """The same domain as people read it; the very same string when it has no A-label of other scripts."""
    return idna.decode(domain) if "xn--" in domain else domain
