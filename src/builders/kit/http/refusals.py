"""What a dependency or a parameter adds to the documented responses of the routes that use it.

A route lists only the refusals of its own handler: those of its dependencies are declared once, beside them.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

from builders.kit.errors import CODES_KEY, Problem, problems

Responses = Mapping[int | str, Mapping[str, Any]]  # OpenAPI's form
T = TypeVar("T", bound=Callable[..., Any])


class Declared(NamedTuple):
    """The responses that a dependency adds."""

    refusals: tuple[type[Problem], ...] = ()
    responses: Responses = MappingProxyType({})  # other than refusals


_NOTHING = Declared()
_declared: dict[Callable[..., Any], Declared] = {}


def refuses(*refusals: type[Problem], responses: Responses = MappingProxyType({})) -> Callable[[T], T]:
    """Declare the refusals of a dependency, and other responses of the routes that use it."""

    def declare(dependency: T) -> T:
        _declared[dependency] = Declared(refusals, responses)
        return dependency

    return declare


def declared_by(dependency: Callable[..., Any]) -> Declared:
    """Return the responses that a dependency adds."""
    return _declared.get(dependency, _NOTHING)


@dataclass(frozen=True, slots=True)
class Refuses:
    """Mark a parameter whose value can cause a refusal: `Annotated[str, Path(...), Refuses(DomainNotFound)]`."""

    refusal: type[Problem]


def join(first: Responses, second: Responses) -> dict[int | str, dict[str, Any]]:
    """Return the responses of both; where both have a status, the descriptions and codes of both."""
    joined = {status: dict(each) for status, each in (*first.items(), *second.items())}
    for status in first.keys() & second.keys():
        both = (first[status], second[status])
        joined[status] = {name: each for name, each in both[0].items() if name != "content"} | dict(both[1])
        if all("description" in each for each in both):
            joined[status]["description"] = "; ".join(each["description"] for each in both)
        codes = [code for each in both for code in each.get(CODES_KEY, ())]
        if codes:
            joined[status][CODES_KEY] = codes
    return joined


def join_refusals(
    refusals: Iterable[type[Problem]], responses: Responses, *, last: Iterable[type[Problem]] = ()
) -> dict[int | str, dict[str, Any]]:
    """Return the responses between those of the refusals before and after them, each of which is listed once."""
    listed = {code for each in responses.values() for code in each.get(CODES_KEY, ())}
    first, after = (
        problems(*dict.fromkeys(each for each in some if each.code not in listed)) for some in (refusals, last)
    )
    return join(join(first, responses), after)
