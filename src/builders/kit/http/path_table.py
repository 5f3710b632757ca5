"""A path table: the endpoint of a method and a path, found by the path's segments; else the 404 or 405."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain
from types import MappingProxyType
from typing import Any, Generic, TypeAlias, TypeVar
from urllib.parse import quote, unquote

from starlette.types import Scope

from builders.kit.errors import MethodNotAllowed, NotFound
from builders.kit.values.suggestions import find_similar

T = TypeVar("T")
SUGGESTED_PATH = "did_you_mean"  # key of the ASGI scope: the similar path
_METHODS = "suggested_methods"  # ... and its methods
_NO_PATH = "The API has no such path."
MAX_PATH_LENGTH = 512  # characters of a path for which a similar one is looked for
MAX_SEGMENTS = 8  # of such a path
_MAX_CORRECTIONS = 2
_SIMILARITY = 0.65  # of a segment to the literal one (difflib): `alias` is `aliases`, and `keys` is `api-keys`
_LONGEST_SIMILAR = 40  # characters of a segment
_SAFE = "/:@!$&'()*+,;="  # characters that a path contains unescaped (RFC 3986, 3.3)


class _Node(Generic[T]):
    """A segment: literal children by name, one child for a parameter, endpoints by method."""

    __slots__ = ("endpoints", "literal", "names", "parameter")

    def __init__(self) -> None:
        self.literal: dict[str, _Node[T]] = {}
        self.parameter: _Node[T] | None = None
        self.endpoints: dict[str, tuple[T, tuple[str, ...]]] = {}


# The endpoints of a path by method, each with the names of its parameters, and the values of the parameters.
Found: TypeAlias = tuple[Mapping[str, tuple[T, tuple[str, ...]]], tuple[str, ...]]


class PathTable(Generic[T]):
    """Paths with `{name}` parameters, each one whole segment.

    A literal segment wins over a parameter, for every method: `/domains/claimable` has none of `/domains/{id}`.
    """

    def __init__(self) -> None:
        self._before_slash: _Node[T] = _Node()
        self._root = self._before_slash.literal[""] = _Node[T]()

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

    def find(self, path: str) -> Found[T]:
        """Return the endpoints of the most literal path that matches; none when no path does."""
        segments = path.split("/")
        ways: list[tuple[_Node[T], int, tuple[str, ...]]] = [(self._before_slash, 0, ())]  # the last is next
        while ways:
            node, at, values = ways.pop()
            if at < len(segments):
                segment = segments[at]
                if node.parameter is not None and segment:
                    ways.append((node.parameter, at + 1, (*values, segment)))
                child = node.literal.get(segment)
                if child is not None:
                    ways.append((child, at + 1, values))
            elif node.endpoints:
                return node.endpoints, values
        return {}, ()

    def list_similar(self, segments: Sequence[str]) -> Iterator[str]:
        """Yield the paths that fit after the fewest corrections: a similar segment, or one that is missing."""
        for corrections in range(1, _MAX_CORRECTIONS + 1):
            yield from ("/" + "/".join(found) for found in _correct(self._root, segments, corrections))


def _correct(node: _Node[T], segments: Sequence[str], corrections: int) -> Iterator[tuple[str, ...]]:
    """Yield the paths below a node that the segments fit after at most so many corrections."""
    if not segments:
        if node.endpoints:
            yield ()
        return
    first, rest = segments[0], segments[1:]
    ways: list[tuple[tuple[str, ...], _Node[T], int]] = [
        ((name,), node.literal[name], cost) for name, cost in _similar(node, first, corrections)
    ]
    if node.parameter is not None:
        ways.append(((first,), node.parameter, 0))
    if corrections:
        ways += [
            ((missing, name), child.literal[name], cost + 1)
            for missing, child in node.literal.items()
            for name, cost in _similar(child, first, corrections - 1)
        ]
    for names, child, cost in ways:
        yield from ((*names, *after) for after in _correct(child, rest, corrections - cost))


def _similar(node: _Node[T], segment: str, corrections: int) -> list[tuple[str, int]]:
    """Return the literal segments of a node that equal this one or are similar, and the number of corrections.

    Beside an equal one only its plural counts: `plan` is `plans` where `/plan` ends.
    """
    literal = segment.lower()
    if literal in node.literal:
        return [(literal, 0), *([(f"{literal}s", 1)] if corrections and f"{literal}s" in node.literal else ())]
    is_short = len(literal) <= _LONGEST_SIMILAR
    found = find_similar(literal, node.literal, cutoff=_SIMILARITY) if corrections and is_short else None
    return [] if found is None else [(found, 1)]


def find_similar_path(
    table: PathTable[Any], path: str, words: Mapping[str, str] = MappingProxyType({})
) -> str | None:
    """Return the path of the table that is meant; `words` maps other beginnings of paths to those of the table.

    It differs in slashes, in case, in its version prefix or in such words, else in a segment that is missing or
    misspelled.
    """
    segments = [*filter(None, path.split("/"))]
    if len(path) > MAX_PATH_LENGTH or len(segments) > MAX_SEGMENTS:
        return None
    plain = "/" + "/".join(segments)
    for written in (plain, plain.lower()):
        for candidate in (
            written,
            f"/v1{written}",
            f"/public{written}",
            written.removeprefix("/v1"),
            written.removeprefix("/api"),
        ):
            for known in (candidate, _reword(candidate, words)):
                if table.find(known)[0]:
                    return quote(known, safe=_SAFE)
    similar = next(chain(table.list_similar(segments), table.list_similar(["v1", *segments])), None)
    return None if similar is None else quote(similar, safe=_SAFE)


def suggest_path(scope: Scope, table: PathTable[Any], path: str, words: Mapping[str, str]) -> None:
    """Add the path that is meant to the scope, for `not_found`."""
    meant = scope[SUGGESTED_PATH] = find_similar_path(table, path, words)
    if meant is not None:
        scope[_METHODS] = table.find(unquote(meant))[0].keys()


def _reword(path: str, words: Mapping[str, str]) -> str:
    """Return the path with the beginning that one of the words means."""
    found = next((each for each in words if f"{path}/".startswith(f"{each}/")), None)
    return path if found is None else words[found] + path.removeprefix(found)


def not_found(scope: Scope, headers: Mapping[str, str]) -> NotFound:
    """Return the refusal of a path that nothing answers."""
    meant: str | None = scope.get(SUGGESTED_PATH)
    if meant is None:
        return NotFound(_NO_PATH, headers=headers)
    has_method = scope["method"] in scope[_METHODS]
    how = f"Use {scope['method']} {meant}." if has_method else f"{meant} supports {_listed(scope[_METHODS])}."
    return NotFound(_NO_PATH, headers=headers, did_you_mean=meant, next_action=how)


def _listed(methods: Collection[str]) -> str:
    return ", ".join(sorted(methods))


def not_allowed(method: str, methods: Collection[str], remedy: str | None) -> MethodNotAllowed:
    """Return the refusal of a method; `Allow` names those of all routes of the path (RFC 9110, 15.5.6)."""
    allowed = _listed(methods)
    if remedy is None and method == "PUT" and "PATCH" in methods:
        remedy = "Send the changed members with PATCH."
    return MethodNotAllowed(f"The path supports {allowed}.", headers={"Allow": allowed}, next_action=remedy)
