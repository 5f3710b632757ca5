"""Manifests in YAML or JSON, and the line and column of each of their values."""

import json
import math
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from builders_client.cli.faults import USAGE, Fault

Path_ = tuple[str | int, ...]
_KINDS = {"projects": "project", "domains": "domain", "webhooks": "webhook", "aliases": "alias"}
_DEEPEST, _MOST = 60, 200_000
_TOO_DEEP = "the file is nested too deeply"


class Place(NamedTuple):
    """A position in a file, from 1."""

    line: int
    column: int


class Manifest(NamedTuple):
    """A manifest as it was read."""

    name: str
    data: dict[str, Any]
    places: Mapping[Path_, Place]

    def at(self, location: Sequence[str | int]) -> str:
        """Return `file:line:column` of the value at a location, else of the closest one around it."""
        path = tuple(location)
        while path and path not in self.places:
            path = path[:-1]
        place = self.places.get(path, Place(1, 1))
        return f"{self.name}:{place.line}:{place.column}"

    def of_address(self, address: str) -> str:
        """Return `file:line:column` of a resource by its address in a plan, such as `alias.ada`."""
        kind, _, key = address.partition(".")
        resources = self.data.get("resources") or {}
        for group, word in _KINDS.items():
            for at, each in enumerate(resources.get(group) or ()):
                if word == kind and isinstance(each, dict) and each.get("key") == key:
                    return self.at(("resources", group, at))
        return self.at(())


def text_of(file: Path) -> str:
    """Return the text of a file, `-` for the standard input, which is UTF-8 in each locale."""
    content = sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes()
    return content.decode("utf-8-sig")


def read(file: Path) -> Manifest:
    """Return the manifest of a file, `-` for the standard input. Raise Fault with line and column."""
    name = "-" if str(file) == "-" else str(file)
    text = text_of(file)
    data = _read_json(text, name)
    places: dict[Path_, Place] = {}
    try:
        # YAML has no tabs between values, and JSON none inside them.
        found = _read_yaml(text if data is None else text.replace("\t", " "), places, name)
    except Fault:  # JSON that YAML does not read, such as with a very long name, has no places
        if data is None:
            raise
        found = data
    data = found if data is None else data
    if not isinstance(data, dict):
        raise _fault(f"{name}:1:1", "a manifest is a mapping with api_version, kind, metadata and resources")
    return Manifest(name, data, places)


def _read_json(text: str, name: str) -> Any:
    """Return what JSON says; None for YAML, which has the better errors. Raise Fault for JSON that is no YAML."""
    if not text.lstrip().startswith("{"):
        return None
    try:
        return json.loads(text, object_pairs_hook=_members, parse_constant=_refuse)
    except json.JSONDecodeError as error:
        if "\n\t" in text:
            raise _fault(f"{name}:{error.lineno}:{error.colno}", error.msg) from error
    except (ValueError, RecursionError):
        pass
    return None


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object. Raise ValueError for a member that is there twice."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError
    return found


def _refuse(constant: str) -> None:
    raise ValueError(constant)


def _read_yaml(text: str, places: dict[Path_, Place], name: str) -> Any:
    """Return what YAML says, and note the places of all values. Raise Fault."""
    import yaml  # type: ignore[import-untyped] # it has no types

    loader = None
    try:
        loader = yaml.SafeLoader(text)
        # A date stays text, as in JSON.
        loader.yaml_implicit_resolvers = {
            first: [each for each in found if each[0] != "tag:yaml.org,2002:timestamp"]
            for first, found in loader.yaml_implicit_resolvers.items()
        }
        node = loader.get_single_node()
        return None if node is None else _value(loader, node, (), places, name)
    except Fault:
        raise
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f"{name}:{mark.line + 1}:{mark.column + 1}" if mark else name
        raise _fault(place, str(error.problem or error.context)) from error
    except RecursionError as error:
        raise _fault(name, _TOO_DEEP) from error
    except Exception as error:  # the library lets errors of many kinds through
        raise _fault(name, f"the file cannot be read: {error}") from error
    finally:
        if loader is not None:
            loader.dispose()


def _value(loader: Any, node: Any, path: Path_, places: dict[Path_, Place], name: str) -> Any:
    """Return the value of a node, and note the places of all values in it."""
    import yaml

    places.setdefault(path, Place(node.start_mark.line + 1, node.start_mark.column + 1))
    where = _where(name, node)
    if len(places) > _MOST:  # such as aliases of aliases
        raise _fault(where, "the file has too many values")
    if len(path) > _DEEPEST:
        raise _fault(where, _TOO_DEEP)
    if isinstance(node, yaml.SequenceNode):
        return [_value(loader, each, (*path, at), places, name) for at, each in enumerate(node.value)]
    if not isinstance(node, yaml.MappingNode):
        return _scalar(loader, node, where)
    loader.flatten_mapping(node)
    found: dict[str, Any] = {}
    for key, value in node.value:
        word = key.value
        if not isinstance(word, str):
            raise _fault(_where(name, key), "the name of a member is text")
        if word in found:
            raise _fault(_where(name, key), f"the member {word} is there twice")
        found[word] = _value(loader, value, (*path, word), places, name)
        places[(*path, word)] = Place(key.start_mark.line + 1, key.start_mark.column + 1)
    return found


def _scalar(loader: Any, node: Any, where: str) -> Any:
    """Return a value without parts. Raise Fault for one that JSON does not have."""
    import yaml

    kind = node.tag.rpartition(":")[2]
    try:
        found = loader.construct_object(node)
    except yaml.YAMLError:
        raise
    except Exception as error:  # such as KeyError for `!!bool x`
        raise _fault(where, f"this is no value of the type {kind}") from error
    if not isinstance(found, str | int | float | None) or (isinstance(found, float) and not math.isfinite(found)):
        raise _fault(where, f"JSON has no value such as this one of the type {kind}")
    return found


def _where(name: str, node: Any) -> str:
    return f"{name}:{node.start_mark.line + 1}:{node.start_mark.column + 1}"


def _fault(place: str, message: str) -> Fault:
    return Fault(f"{place}: {message}", next_action="Correct the file there, then repeat the command.", code=USAGE)
