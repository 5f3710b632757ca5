"""DMARC and DKIM records, lists of `tag=value`, as they are read and judged. Pure; no text makes it raise."""

import re
from base64 import b64decode
from collections.abc import Mapping, Sequence

from builders.domains.records import RecordHealth
from builders.domains.wording import txt_instruction

DMARC_VERSION = "DMARC1"
POLICIES = {"none", "quarantine", "reject"}
_TAG = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_PERCENT = re.compile(r"[0-9]{1,3}")
_BEGINS = re.compile(r"\s*v\s*=\s*DMARC1\s*(?:;|\Z)")
_WANTED = f"v={DMARC_VERSION}; p=none"


def parse_tags(text: str) -> Mapping[str, str] | None:
    """The tags in their order, names in lower case; None for what is no such list (RFC 6376, 3.2)."""
    tags: dict[str, str] = {}
    parts = text.split(";")
    for at, part in enumerate(parts):
        name, equals, value = (each.strip() for each in part.partition("="))
        if not part.strip() and at == len(parts) - 1:
            continue  # one semicolon may stand at the end
        if not equals or not _TAG.fullmatch(name) or name.lower() in tags:
            return None
        tags[name.lower()] = value
    return tags


def is_dmarc(text: str) -> bool:
    """Whether a TXT record means to be one."""
    return _BEGINS.match(text) is not None


def find_dmarc_error(text: str) -> str | None:
    """What keeps a record from counting, of one that `is_dmarc`."""
    tags = parse_tags(text)
    if tags is None:
        return "it is no list of tag=value"
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
    """What is to be said of the TXT records at `_dmarc` of a domain, and what to do.

    `inherited`: a domain above it has one, which holds for it too.
    """
    name, found = f"_dmarc.{domain}", [each for each in texts if is_dmarc(each)]
    if len(found) > 1:
        return RecordHealth.WRONG, f"Keep one DMARC record at {name}: with several none counts."
    if not found:
        return (RecordHealth.OK, None) if inherited else (RecordHealth.MISSING, txt_instruction(name, _WANTED))
    flaw = find_dmarc_error(found[0])
    if flaw is not None:
        return RecordHealth.WRONG, f"Put the DMARC record right: {flaw}. {txt_instruction(name, _WANTED)}"
    return RecordHealth.OK, None


def validate_dkim(
    name: str, texts: Sequence[str], *, target: str, ours: str | None
) -> tuple[RecordHealth, str | None]:
    """What is to be said of the DKIM key at a name that should lead to `target`, where the key `ours` is."""
    wanted = f"Set a CNAME record at {name} that points to {target}."
    if not texts:
        return RecordHealth.MISSING, wanted
    if len(texts) > 1:
        return RecordHealth.WRONG, f"There are several TXT records at {name}. {wanted}"
    key = dkim_key(texts[0])
    if key is None:
        return RecordHealth.WRONG, f"There is no key in the record at {name}. {wanted}"
    if ours is not None and key != ours:
        return RecordHealth.WRONG, f"The key at {name} is not the one that we sign with. {wanted}"
    return RecordHealth.OK, None


def dkim_key(text: str) -> str | None:
    """The public key in a DKIM record (RFC 6376, 3.6.1); None for none, and for one that was revoked."""
    tags = parse_tags(text)
    if tags is None or tags.get("v", "DKIM1") != "DKIM1" or tags.get("k", "rsa").lower() not in {"rsa", "ed25519"}:
        return None
    key = "".join(tags.get("p", "").split())
    try:
        b64decode(key, validate=True)
    except ValueError:
        return None
    return key or None
