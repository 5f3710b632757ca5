"""Marks of operations, which the compiled route reads (kit/http/compiled_routes.py)."""


class Mark:
    """A dependency without a value, for `dependencies` of an operation: `Depends(mark)`."""

    __slots__ = ()

    def __call__(self) -> None:
        """Do nothing."""
