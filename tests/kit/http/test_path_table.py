"""The path table finds the routes that Starlette finds, except that a literal path has only its own methods."""

from collections.abc import Iterator
from typing import TypeVar

import pytest
from hypothesis import given, strategies as st
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match, Route

from builders.kit.http.path_table import PathTable

METHODS = ["POST", "PUT", "DELETE"]  # Starlette adds a HEAD to a GET
T = TypeVar("T")
Template = tuple[str, ...]  # its segments; "{}" is a parameter

segment = st.sampled_from(["a", "b", "cc", "{}"])
template = st.lists(segment, min_size=1, max_size=4).map(tuple)
tables = st.sets(st.tuples(st.sampled_from(METHODS), template), min_size=1, max_size=25)
asked = st.lists(st.sampled_from(["a", "b", "cc", "d", "", "ä ö", "%2F", "{}", ".."]), max_size=5)


def answer(table: PathTable[T], method: str, path: str) -> tuple[T, dict[str, str]] | None:
    """The endpoint of the method with its path parameters."""
    endpoints, values = table.find(path)
    if method not in endpoints:
        return None
    endpoint, names = endpoints[method]
    return endpoint, dict(zip(names, values, strict=True))


def spelled(template: Template) -> str:
    """The path with names for its parameters, each template its own."""
    names = (f"{{p{at}_{len(template)}}}" if each == "{}" else each for at, each in enumerate(template))
    return "/" + "/".join(names)


async def nothing(_: Request) -> Response:
    return Response()


def walk(routes: list[Route], method: str, path: str) -> Iterator[tuple[Match, str, dict[str, str]]]:
    """What each route says, as Starlette asks them."""
    for route in routes:
        match, scope = route.matches({"type": "http", "method": method, "path": path})
        if match is not Match.NONE:
            yield match, next(iter(route.methods or ())) + route.path, scope["path_params"]


@given(table=tables, segments=asked, method=st.sampled_from(METHODS))
def test_the_table_finds_what_starlette_finds(
    table: set[tuple[str, Template]], segments: list[str], method: str
) -> None:
    # Starlette takes the first that fits, so it gets the most literal ones first; the table is not.
    literal_first = sorted(table, key=lambda each: [name == "{}" for name in each[1]])
    routes = [Route(spelled(each), nothing, methods=[verb]) for verb, each in literal_first]
    ours: PathTable[str] = PathTable()
    for verb, each in table:
        ours.add(verb, spelled(each), verb + spelled(each))
    path = "/" + "/".join(segments)

    said = list(walk(routes, method, path))

    # Where Starlette goes on to the next route that fits, the most literal one has all methods of the path.
    template = said[0][1][said[0][1].index("/") :] if said else ""
    own = [(match, name, values) for match, name, values in said if name[name.index("/") :] == template]
    full = [(name, values) for match, name, values in own if match is Match.FULL]
    assert answer(ours, method, path) == (full[0] if full else None)
    assert ours.find(path)[0].keys() == {name.partition("/")[0] for _, name, _ in own}


@pytest.mark.parametrize("path", ["", "a", "x/a", "*", "http://x/a"])
def test_a_path_begins_with_a_slash(path: str) -> None:
    table: PathTable[int] = PathTable()
    table.add("GET", "/a", 1)
    table.add("GET", "/{x}/{y}", 2)

    assert table.find(path) == ({}, ())


def test_a_path_is_registered_once() -> None:
    table: PathTable[int] = PathTable()
    table.add("GET", "/a/{b}", 1)
    table.add("PUT", "/a/{c}", 2)

    with pytest.raises(ValueError, match=r"GET /a/\{c\} is registered twice"):
        table.add("GET", "/a/{c}", 3)
    assert answer(table, "GET", "/a/x") == (1, {"b": "x"})
    assert answer(table, "PUT", "/a/x") == (2, {"c": "x"})


@pytest.mark.parametrize("path", ["/a/{b}.csv", "/a/x{b}", "/a/{b:path}", "/a/{b:int}/c"])
def test_a_parameter_is_a_whole_segment(path: str) -> None:
    with pytest.raises(ValueError, match="a parameter must be a whole segment"):
        PathTable[int]().add("GET", path, 1)


def test_a_literal_segment_without_a_route_falls_back_to_the_parameter() -> None:
    table: PathTable[int] = PathTable()
    table.add("GET", "/a/b/c", 1)
    table.add("GET", "/a/{x}/d", 2)
    table.add("DELETE", "/a/{x}/c", 3)

    assert answer(table, "GET", "/a/b/d") == (2, {"x": "b"})
    assert answer(table, "DELETE", "/a/y/c") == (3, {"x": "y"})
    # A literal path has its own methods alone.
    assert table.find("/a/b/c")[0].keys() == {"GET"}
