"""Decide how many domains a complete listing may drop at once. Pure.

A registrar can leave out domains and say that its list is complete. A drop of many domains is held back until the
next complete listing does not have them either.
"""

from dataclasses import dataclass

LEAST_DROP = 10  # domains; a smaller drop is never held back
DROP_SHARE = 10  # nor is one of at most this part of the domains that the connection had


@dataclass(frozen=True, slots=True, kw_only=True)
class Drop:
    """The domains that a complete listing does not have any more."""

    missing: int  # that are marked as missing
    held_back: int  # that are kept as held until the next complete listing


def decide_drop(*, unlisted: int, repeated: int, suspected: int, had: int, is_accepted: bool) -> Drop:
    """Return which of the domains that are not listed are missing.

    `suspected` domains were held back before, `repeated` of them are not listed again, and the connection `had` so
    many domains before the listing. If only some of them are listed again, the earlier listing was wrong, and all
    are decided anew.
    """
    confirmed = suspected if repeated == suspected else 0
    rest = unlisted - confirmed
    if is_accepted or rest < LEAST_DROP or rest * DROP_SHARE <= had:
        return Drop(missing=unlisted, held_back=0)
    return Drop(missing=confirmed, held_back=rest)
