"""How a state and a device are shown: a word and a class, and words for what a browser calls itself."""

from collections.abc import Mapping, Sequence

# How a state is shown: a word, a colour and a shape, since colour alone says nothing to many people.
_STATES: Mapping[str, Sequence[str]] = {
    "good": [
        *(
            "active",
            "applied",
            "approved",
            "completed",
            "create",
            "created",
            "done",
            "enabled",
            "healthy",
            "keep",
            "live",
            "ok",
            "owned",
            "paid",
            "promoted",
            "renew",
        ),
        *("succeeded", "updated", "verified"),
    ],
    "wait": [
        *(
            "adopt",
            "delivering",
            "different",
            "expiring",
            "grace",
            "matched",
            "never_synced",
            "open",
            "partial",
            "paused",
            "pending",
            "promoting",
            "queued",
            "rate_limited",
            "ready",
            "replace",
        ),
        *("required", "review", "running", "stale", "suggested", "unchecked", "unconfirmed", "undoing"),
        *("unmatched", "update", "warn"),
    ],
    "bad": [
        *(
            "against_the_decision",
            "auth_failed",
            "blocked",
            "critical",
            "delete",
            "drop",
            "error",
            "expired",
            "failed",
            "failing",
            "high",
            "missing",
            "overdue",
            "pending_delete",
            "redemption",
            "refused",
            "rejected",
            "restricted",
            "suspended",
        ),
        *("uncollectible", "wrong"),
    ],
}
_CLASSES = {state: kind for kind, states in _STATES.items() for state in states}


def state_class(value: str) -> str:
    """Return the class of a state: good, wait, bad or off."""
    return _CLASSES.get(value, "off")


# What a browser or a program calls itself, the more special first, with words for a person.
_AGENTS = {"Edg": "Edge", "OPR": "Opera", "Firefox": "Firefox", "Chrome": "Chrome", "Safari": "Safari"}
_PROGRAMS = {"bld": "the bld program", "curl": "curl", "python": "a Python program", "node": "a Node program"}
_SYSTEMS = {
    "iPhone": "an iPhone",
    "iPad": "an iPad",
    "Android": "Android",
    "Windows": "Windows",
    "Mac OS": "a Mac",
    "CrOS": "a Chromebook",
    "Linux": "Linux",
}


def device(agent: str | None) -> str:
    """Return a browser and its system in words: `Firefox on Windows`."""
    if not agent:
        return "an unknown device"
    name = next((each for mark, each in (_AGENTS | _PROGRAMS).items() if mark in agent), "another program")
    system = next((each for mark, each in _SYSTEMS.items() if mark in agent), None)
    return f"{name} on {system}" if system else name
