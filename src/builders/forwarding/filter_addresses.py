"""Addresses by which the mail server hands mail over to the mail filter. No sender outside can reach them."""

import re
from base64 import b32decode, b32encode
from binascii import Error as NotBase32
from typing import NamedTuple
from uuid import UUID

DOMAIN = "filter.invalid"  # RFC 2606: no name server has it
REVERSE = re.compile(r"r-[a-z2-7]{26}")  # local part of a reverse address
_NAME = re.compile(r"([fe])-([a-z2-7]{26})-([a-z2-7]{26})")
_FORWARD, _EVENTS = "f", "e"
_PADDING = "======"


class HandedName(NamedTuple):
    """A name whose mail is handed over."""

    account_id: UUID
    alias_id: UUID
    is_event: bool  # received as an event, else for its destinations


def encode(content: bytes) -> str:
    """Return 16 bytes as 26 characters of a local part."""
    return b32encode(content).decode().rstrip("=").lower()


def address_of_name(account_id: UUID, alias_id: UUID) -> str:
    """Return the address of the mail to a name with `reply`."""
    return f"{_FORWARD}-{encode(account_id.bytes)}-{encode(alias_id.bytes)}@{DOMAIN}"


def address_of_events(account_id: UUID, alias_id: UUID) -> str:
    """Return the address of the mail to a name that is received as events."""
    return f"{_EVENTS}-{encode(account_id.bytes)}-{encode(alias_id.bytes)}@{DOMAIN}"


def find_name(local_part: str) -> HandedName | None:
    """Return the name in such an address; None for another one."""
    found = _NAME.fullmatch(local_part)
    if found is None:
        return None
    try:
        account, alias = (UUID(bytes=b32decode(each.upper() + _PADDING)) for each in found.groups()[1:])
    except NotBase32:
        return None
    return HandedName(account, alias, found[1] == _EVENTS)
