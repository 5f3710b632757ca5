"""What an operation does: a mandate limits effects, and not only money.

Each operation that needs a scope declares one effect (`needs` in `kit/http/callers.py`).
"""

from enum import StrEnum


class Effect(StrEnum):
    """The effect of an operation."""

    READ = "read"
    PROPOSE = "propose"  # a plan, a simulation or a preview: it changes nothing that works
    WRITE = "write"
    DELETE = "delete"
    OUTWARD = "outward"  # mail, events or codes can go to somebody who did not get them before
    AUTHORITY = "authority"  # decides who may do what, or binds the account


def effect_of(scope: str, *, declared: Effect | None, of_people: str) -> Effect:
    """Return the effect of an operation with a scope: as declared; a scope that only reads needs no declaration.

    What needs the scope `of_people` has authority. Raise TypeError where a declaration is missing.
    """
    if scope == of_people:
        return Effect.AUTHORITY
    if declared is None and not scope.endswith(":read"):
        raise TypeError(f"an operation with the scope {scope} declares its effect")
    return declared or Effect.READ
