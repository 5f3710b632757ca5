# Written by script/clients.
"""What callers send: shared."""

from typing import TypedDict


class TokenForm(TypedDict):
    """The token of a link, as a page sends it."""

    token: str
    """The token of the link."""
