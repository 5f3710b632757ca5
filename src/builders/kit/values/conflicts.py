"""Refusals of a batch that changes resources of a manifest: nothing of it is done. The promotion explains them."""

from collections.abc import Collection
from typing import Protocol
from uuid import UUID


class ResourcesChanged(Exception):
    """These resources have another version than expected, or the account no longer has them."""

    def __init__(self, changed: Collection[UUID]) -> None:
        super().__init__(f"{len(changed)} resources have changed")
        self.changed = frozenset(changed)


class KeysTaken(Exception):
    """These keys of manifests (manifest, key) belong to other resources."""

    def __init__(self, keys: Collection[tuple[str, str]]) -> None:
        super().__init__(f"{len(keys)} keys of manifests are taken")
        self.keys = frozenset(keys)


class _Managed(Protocol):
    @property
    def id(self) -> UUID: ...
    @property
    def manifest(self) -> str | None: ...
    @property
    def manifest_key(self) -> str | None: ...


def key_columns(wanted: Collection[_Managed]) -> tuple[list[str | None], list[str | None], list[UUID]]:
    """Return manifests and keys of the resources in one, and the ids of all, to find others with these keys."""
    managed = [each for each in wanted if each.manifest is not None]
    return (
        [each.manifest for each in managed],
        [each.manifest_key for each in managed],
        [each.id for each in wanted],
    )
