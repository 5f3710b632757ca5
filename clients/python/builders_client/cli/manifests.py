"""Manifests in YAML or JSON, and the line and column of each of their values."""

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


def read(file: Path) -> Manifest:
    """Return the manifest of a file, `-` for the standard input. Raise Fault with line and column."""
    import yaml  # type: ignore[import-untyped] # it has no types

    name = "-" if str(file) == "-" else str(file)
    text = sys.stdin.read() if name == "-" else file.read_text(encoding="utf-8")
    try:
        loader = yaml.SafeLoader(text)
    except yaml.YAMLError as error:  # a character that YAML does not have
        raise _fault(name, str(error)) from error
    # A date stays text, as in JSON.
    loader.yaml_implicit_resolvers = {
        first: [each for each in found if each[0] != "tag:yaml.org,2002:timestamp"]
        for first, found in loader.yaml_implicit_resolvers.items()
    }
    places: dict[Path_, Place] = {}
    try:
        node = loader.get_single_node()
        data = None if node is None else _value(loader, node, (), places, name)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f"{name}:{mark.line + 1}:{mark.column + 1}" if mark else name
        raise _fault(place, str(error.problem or error.context)) from error
    except yaml.YAMLError as error:
        raise _fault(name, str(error)) from error
    except ValueError as error:  # such as a number that is none
        raise _fault(name, str(error)) from error
    except RecursionError as error:
        raise _fault(name, _TOO_DEEP) from error
    finally:
        loader.dispose()
    if not isinstance(data, dict):
        raise _fault(f"{name}:1:1", "a manifest is a mapping with api_version, kind, metadata and resources")
    return Manifest(name, data, places)


def _value(loader: Any, node: Any, path: Path_, places: dict[Path_, Place], name: str) -> Any:
    """Return the value of a node, and note the places of all values in it."""
    import yaml

    places.setdefault(path, Place(node.start_mark.line + 1, node.start_mark.column + 1))
    where = f"{name}:{node.start_mark.line + 1}:{node.start_mark.column + 1}"
    if len(places) > _MOST:  # such as aliases of aliases
        raise _fault(where, "the file has too many values")
    if len(path) > _DEEPEST:
        raise _fault(where, _TOO_DEEP)
    if isinstance(node, yaml.SequenceNode):
        return [_value(loader, each, (*path, at), places, name) for at, each in enumerate(node.value)]
    if not isinstance(node, yaml.MappingNode):
        return loader.construct_object(node)
    loader.flatten_mapping(node)
    found: dict[str, Any] = {}
    for key, value in node.value:
        word = key.value
        if word in found:
            mark = key.start_mark
            raise _fault(f"{name}:{mark.line + 1}:{mark.column + 1}", f"the member {word} is there twice")
        found[word] = _value(loader, value, (*path, word), places, name)
        places[(*path, word)] = Place(key.start_mark.line + 1, key.start_mark.column + 1)
    return found


def _fault(place: str, message: str) -> Fault:
    return Fault(f"{place}: {message}", next_action="Correct the file there, then repeat the command.", code=USAGE)
