"""The senders that an alias blocks: addresses and domains, and the forms in which they are compared.

A domain blocks its subdomains, too, of which its owner has as many as they like. An address blocks only itself, in
any case, with its tag if it has one.
"""

import re
import unicodedata
from collections.abc import Iterator

from builders.kit.values.domain_names import find_a_label

MAX_SENDER = 320  # characters; a local part of 64 and a domain of 255
# Wider than what a destination may be: a mail server accepts senders such as `a..b@example.net`. A local part in
# quotes arrives without them.
_LOCAL = re.compile(r"[^\x00-\x20\x7f\"(),:;<>@\[\\\]]{1,64}")
_MIN_LABELS = 2


def normalize_sender(text: str) -> str:
    """Return an address or a domain as it is stored: in lower case, its domain as an A-label. Raise ValueError."""
    local_part, at, domain = text.strip().rpartition("@")
    label = find_a_label(domain)
    local_part = _fold(local_part)
    if label is None or (local_part and not (_LOCAL.fullmatch(local_part) and local_part.isprintable())):
        raise ValueError("Not a sender; send an address such as eve@example.net, or a domain such as example.net.")
    return f"{local_part}{at}{label}" if local_part else label


def list_entries(sender: str) -> list[str]:
    """Return the entries of a list that block the sender of a message; none for a text that is no address.

    They are the address, its domain, and each domain above it.
    """
    local_part, at, domain = sender.rpartition("@")
    label = find_a_label(domain) if at and local_part else None
    if label is None:
        return []
    folded = _fold(local_part)
    return [*([f"{folded}@{label}"] if _LOCAL.fullmatch(folded) else []), *_domains(label)]


def _domains(label: str) -> Iterator[str]:
    labels = label.split(".")
    for at in range(len(labels) - _MIN_LABELS + 1):
        yield ".".join(labels[at:])


def _fold(local_part: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", local_part).lower())
