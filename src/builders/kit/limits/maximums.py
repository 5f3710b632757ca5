"""Maximums of what an account holds: their declaration and their registry.

A package declares a maximum next to the code that enforces it, and uses the declared number. A test with the mark
`maximum(NAME)` meets it. tests/architecture/test_maximums.py compares the register with the tests and the errors.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from builders.kit.process.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Maximum:
    """The greatest number of something that one account, portfolio, domain, … holds."""

    name: str
    value: int
    of: str  # what each has this maximum: "account", "portfolio", "domain", …
    counts: str  # what counts, for the documentation
    code: str | None  # of the error, or of the row's problem, above the maximum; None without one
    otherwise: str = "it waits"  # above the maximum, without a code
    setting: str | None = None  # that changes the value


_register: dict[str, Maximum] = {}


def declare(name: str, value: int, *, of: str, counts: str, code: str) -> int:
    """Register a maximum and return its value. Raise ValueError when another one has its name."""
    return _add(Maximum(name=name, value=value, of=of, counts=counts, code=code))


def declare_kept(name: str, value: int, *, of: str, counts: str) -> int:
    """Register a maximum above which the oldest are deleted; return its value. Raise ValueError like `declare`."""
    kept = "the oldest are deleted"
    return _add(Maximum(name=name, value=value, of=of, counts=counts, code=None, otherwise=kept))


def declare_delayed(name: str, value: int, *, of: str, counts: str) -> int:
    """Register a maximum above which all else waits; return its value. Raise ValueError like `declare`."""
    return _add(Maximum(name=name, value=value, of=of, counts=counts, code=None))


def declare_setting(setting: str, *, of: str, counts: str, code: str | None) -> None:
    """Register the maximum that a setting contains, by the setting's name. Raise ValueError like `declare`."""
    value: int = Settings.model_fields[setting].default
    _add(Maximum(name=setting, value=value, of=of, counts=counts, code=code, setting=setting))


def _add(maximum: Maximum) -> int:
    if _register.setdefault(maximum.name, maximum) != maximum:
        raise ValueError(f"the maximum {maximum.name} is declared twice")
    return maximum.value


def list_maximums() -> Sequence[Maximum]:
    """Return every registered maximum, sorted by name."""
    return [_register[name] for name in sorted(_register)]
