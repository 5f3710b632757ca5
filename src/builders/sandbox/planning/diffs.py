"""The result of comparing one kind of resource, and the findings that all kinds share. Pure."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Self, TypeVar

from builders.sandbox.manifest import Manifest
from builders.sandbox.records import Action, Finding, Kind

T = TypeVar("T")
PROJECT_PRUNED = "The manifest no longer has this project, and prunes: the plan would archive it."
PRUNED = "It is no longer in the manifest, which prunes."
ADOPTED = "This manifest takes it over."


@dataclass(frozen=True, slots=True, kw_only=True)
class KindDiff:
    """The actions on one kind of resource, removals apart, and the findings."""

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
        """Return the diff; delete the resources `left`, which the manifest no longer has, or warn of them."""
        return cls(
            actions=tuple(actions),
            removed=tuple(map(delete, left)) if manifest.prune else (),
            errors=tuple(errors),
            warnings=() if manifest.prune else tuple(map(left_alone, left)),
        )


def exists(kind: Kind, key: str, what: str, manifest: str | None) -> Finding:
    """Return the error for a resource of the account that this manifest does not manage."""
    holder = f"the manifest {manifest!r}" if manifest else "no manifest"
    return Finding(
        code=f"{kind}_exists",
        address=f"{kind}.{key}",
        message=f"The account has {what} already, managed by {holder}. To take it over: on_conflict adopt.",
    )


def left_alone(kind: Kind, key: str | None, what: str) -> Finding:
    """Return the warning for a resource that stays though the manifest no longer has it."""
    return Finding(
        code="left_alone",
        address=f"{kind}.{key}",
        message=f"{what} is no longer in the manifest; without prune it stays.",
    )


def key_in_use(kind: Kind, key: str, old: str, new: str) -> Finding:
    """Return the error for a key of another resource, which cannot become this one."""
    message = f"The key stood for {old}, and {new} is another: take a new key."
    return Finding(code="key_in_use", address=f"{kind}.{key}", message=message)


def as_desired(changed: tuple[str, ...]) -> str:
    """Return why a resource that this manifest manages is changed, or is not."""
    return f"Changes {', '.join(changed)}." if changed else "It is as wanted."
