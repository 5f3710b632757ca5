"""Refusals of leads."""

from builders.kit.errors import TokenInvalid


def bad_link() -> TokenInvalid:
    """The one answer to all links that are no good."""
    return TokenInvalid("This link is not good, or not any more.", next_action="Leave the address once more.")
