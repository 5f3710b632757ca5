"""The policy about a sender and a recipient together: whether a name refuses mail of the sender.

A request of Postfix' policy protocol (SMTPD_POLICY_README) has one attribute a line and an empty line at its end.
Its reply is an action. The sender is that of the envelope: `From` is not known yet.
"""

from collections.abc import Mapping

from builders.forwarding.recipients import Recipients

REQUEST = "smtpd_access_policy"
ACCEPT = "DUNNO"  # the next restriction decides
REFUSE = "550 5.7.1 This address does not accept mail from this sender."
TRY_LATER = "451 4.3.0 The look-up server has no answer now. Try again later."


def read_attributes(request: bytes) -> Mapping[str, str] | None:
    """Return the attributes of a request, of which an address may have any bytes; None if it is no request."""
    lines = request.decode(errors="replace").split("\n")
    attributes = {name: value for name, equals, value in (line.partition("=") for line in lines) if equals}
    return attributes if attributes.get("request") == REQUEST else None


async def reply_policy(recipients: Recipients, attributes: Mapping[str, str]) -> str:
    """Return whether a name refuses mail of a sender. Bounces have no sender, and are not refused."""
    is_refused = await recipients.refuses(attributes.get("recipient", ""), sender=attributes.get("sender", ""))
    return REFUSE if is_refused else ACCEPT


def format_action(action: str) -> bytes:
    """Return a reply."""
    return f"action={action}\n\n".encode()
