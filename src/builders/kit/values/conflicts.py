"""Refusals of a batch that changes resources of a manifest: nothing of it is done. The promotion explains them."""

from collections.abc import Collection
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
