"""A path table: the endpoint of a method and a path, found by the path's segments; else the 404 or 405."""

from collections.abc import Collection, Mapping
from typing import Any, Generic, TypeAlias, TypeVar
from urllib.parse import quote

from starlette.types import Scope

from builders.kit.errors import MethodNotAllowed, NotFound

T = TypeVar("T")
SUGGESTED_PATH = "did_you_mean"  # key of the ASGI scope: the similar path
MAX_PATH_LENGTH = 512  # characters of a path for which a similar one is looked for
_SAFE = "/:@!$&'()*+,;="  # characters that a path contains unescaped (RFC 3986, 3.3)


class _Node(Generic[T]):
    """A segment: literal children by name, one child for a parameter, endpoints by method."""

    __slots__ = ("endpoints", "literal", "names", "parameter")

    def __init__(self) -> None:
        self.literal: dict[str, _Node[T]] = {}
        self.parameter: _Node[T] | None = None
        self.endpoints: dict[str, tuple[T, tuple[str, ...]]] = {}


_Fit: TypeAlias = tuple[_Node[T], tuple[str, ...]]  # where a path ended, and its parameters


class PathTable(Generic[T]):
    """Paths with `{name}` parameters, each one whole segment.

    A literal segment wins over a parameter, for every method: `/domains/claimable` has none of `/domains/{id}`.
    """

    def __init__(self) -> None:
        self._root: _Node[T] = _Node()

    def add(self, method: str, path: str, endpoint: T) -> None:
        """Add an endpoint. Raise ValueError for a duplicate, and for a parameter within a segment."""
        node, names = self._root, []
        for segment in path.split("/")[1:]:
            if segment.startswith("{") and segment.endswith("}") and ":" not in segment:
                names.append(segment[1:-1])
                node.parameter = node.parameter or _Node()
                node = node.parameter
            elif "{" in segment:
                raise ValueError(f"{path}: a parameter must be a whole segment")
            else:
                node = node.literal.setdefault(segment, _Node())
        if method in node.endpoints:
            raise ValueError(f"{method} {path} is registered twice")
        node.endpoints[method] = (endpoint, tuple(names))

    def find(self, method: str, path: str) -> tuple[T, dict[str, Any]] | None:
        """Return the endpoint and its path parameters; None when no path or method matches."""
        fit = self._fit(path)
        found = None if fit is None else fit[0].endpoints.get(method)
        if fit is None or found is None:
            return None
        return found[0], dict(zip(found[1], fit[1], strict=True))

    def methods(self, path: str) -> set[str]:
        """Return all methods that some endpoint answers at this path."""
        fit = self._fit(path)
        return set() if fit is None else set(fit[0].endpoints)

    def _fit(self, path: str) -> _Fit[T] | None:
        """Return the most literal node with endpoints that the path ends at, and the values of its parameters."""
        before, *segments = path.split("/")
        return None if before else _walk(self._root, segments, 0, ())


def _walk(node: _Node[T], segments: list[str], at: int, values: tuple[str, ...]) -> _Fit[T] | None:
    if at == len(segments):
        return (node, values) if node.endpoints else None
    segment, fit = segments[at], None
    child = node.literal.get(segment)
    if child is not None:
        fit = _walk(child, segments, at + 1, values)
    if fit is None and node.parameter is not None and segment:
        fit = _walk(node.parameter, segments, at + 1, (*values, segment))
    return fit


def find_similar_path(table: PathTable[Any], path: str) -> str | None:
    """Return the path of the table that differs only in slashes, in case, or in its version prefix."""
    if len(path) > MAX_PATH_LENGTH:
        return None
    plain = "/" + "/".join(filter(None, path.split("/")))
    for each in (plain, plain.lower()):
        for candidate in (each, f"/v1{each}", f"/public{each}", each.removeprefix("/v1")):
            if table.methods(candidate):
                return quote(candidate, safe=_SAFE)
    return None


def not_found(scope: Scope, headers: Mapping[str, str]) -> NotFound:
    """Return the refusal of a path that nothing answers."""
    meant: str | None = scope.get(SUGGESTED_PATH)
    members: dict[str, Any] = (
        {} if meant is None else {"did_you_mean": meant, "next_action": f"Use the path {meant}."}
    )
    return NotFound("The API has no such path.", headers=headers, **members)


def not_allowed(method: str, methods: Collection[str], remedy: str | None) -> MethodNotAllowed:
    """Return the refusal of a method; `Allow` names those of all routes of the path (RFC 9110, 15.5.6)."""
    allowed = ", ".join(sorted(methods))
    if remedy is None and method == "PUT" and "PATCH" in methods:
        remedy = "Send the changed members with PATCH."
    return MethodNotAllowed(f"The path supports {allowed}.", headers={"Allow": allowed}, next_action=remedy)
