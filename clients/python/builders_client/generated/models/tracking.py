# Written by script/clients.

from builders_client.values import Model


class LinkReply(Model):
    """The target of a tracked link, for clients other than browsers."""

    target: str
    """Target of the link."""
