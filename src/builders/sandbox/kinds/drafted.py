"""What planning one kind gives."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Self, TypeVar

from builders.sandbox.records import Action, Finding
from builders.sandbox.wishes import Manifest

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Drafted:
    """The actions on one kind, those that take something away apart, and what was found."""

    actions: tuple[Action, ...]
    removed: tuple[Action, ...]
    errors: tuple[Finding, ...]
    warnings: tuple[Finding, ...]

    @classmethod
    def of(
        cls,
        manifest: Manifest,
        actions: Iterable[Action],
        errors: Iterable[Finding],
        left: Iterable[T],
        *,
        delete: Callable[[T], Action],
        left_alone: Callable[[T], Finding],
    ) -> Self:
        """Also for `left`, what the manifest has no more: given up if it prunes, else warned of."""
        return cls(
            actions=tuple(actions),
            removed=tuple(map(delete, left)) if manifest.prune else (),
            errors=tuple(errors),
            warnings=() if manifest.prune else tuple(map(left_alone, left)),
        )
