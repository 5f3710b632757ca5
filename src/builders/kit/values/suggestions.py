"""The known word that a misspelled one means."""

from collections.abc import Iterable
from difflib import get_close_matches

_LONGEST = 80  # characters that are compared: the time grows with their square


def find_similar(word: str, known: Iterable[str], *, cutoff: float = 0.6) -> str | None:
    """Return the most similar known word, None if the similarity of none reaches the cutoff."""
    return next(iter(get_close_matches(word[:_LONGEST], known, n=1, cutoff=cutoff)), None)
