"""The maps of a mail server: the reply to a key of each map, in the words of Postfix.

`recipient` and `sender` are access maps (check_recipient_access, check_sender_access in postconf(5)): a value is
an action. `alias` is for virtual_alias_maps, `domain` for virtual_alias_domains. Postfix also asks for parts of an
address (`harbour.example`, `ada@`, `@harbour.example`), for which these maps have nothing.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import TypeAlias

from builders.forwarding.recipients import Recipients
from builders.forwarding.records import State

# Replies of socketmap_table(5). None is PERM: a fault of the service is never the fault of the mail.
NOT_FOUND = "NOTFOUND "
TRY_LATER = "TEMP The look-up server has no answer now."
NO_MAP = "TEMP The look-up server has no such map."

ACCEPT = "DUNNO"  # goes on with the next restriction, without the parts of the address
REFUSE = "550 5.1.1 This address does not receive mail."
DELAY = "450 4.2.1 This address does not receive mail now. Try again later."
REFUSE_SENDER = "550 5.1.8 The address of the sender does not receive mail."

Reply: TypeAlias = Callable[[Recipients, str], Awaitable[str]]
ACTIONS: Mapping[State, str] = {State.DELIVERABLE: ACCEPT, State.DELAYED: DELAY, State.UNKNOWN: REFUSE}


async def reply(look_up: Reply, recipients: Recipients, key: bytes) -> str:
    """Return the reply of a map to a key; nothing for one that is no text."""
    try:
        text = key.decode()
    except UnicodeDecodeError:
        return NOT_FOUND
    return await look_up(recipients, text)


async def reply_recipient(recipients: Recipients, key: str) -> str:
    """Return whether mail to an address is accepted; nothing for a foreign one."""
    action = ACTIONS.get((await recipients.look_up(key)).state)
    return _found(action)


async def reply_alias(recipients: Recipients, key: str) -> str:
    """Return the destinations of an address.

    Mail that waits for a confirmation stays with its sender, also if another name forwards to this one.
    """
    found = await recipients.look_up(key)
    return TRY_LATER if found.state is State.DELAYED else _found(", ".join(found.destinations))


async def reply_domain(recipients: Recipients, key: str) -> str:
    """Return the domain if the service receives its mail."""
    return _found(await recipients.find_domain(key))


async def reply_sender(recipients: Recipients, key: str) -> str:
    """Refuse a sender on a domain of the catalog whose address receives no mail: only the service sends for these.

    An account may send from any address of its own domain, by other servers.
    """
    found = await recipients.look_up(key)
    return _found(REFUSE_SENDER if found.is_shared and found.state is State.UNKNOWN else None)


def _found(value: str | None) -> str:
    return f"OK {value}" if value else NOT_FOUND


MAPS: Mapping[str, Reply] = {
    "recipient": reply_recipient,
    "alias": reply_alias,
    "domain": reply_domain,
    "sender": reply_sender,
}
