"""Each operation of the OpenAPI document, requested in six loops by the owner of a large portfolio.

The document supplies the paths, the largest values of numbers in the query, the examples of the bodies, and the
rate limits. The identifier of a path is the one of the first item of its collection; an empty collection
gets the example of its own POST first.
"""

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import cache, partial
from itertools import cycle, islice
from typing import Any

import httpx

from builders.app import create_app
from builders.kit.limits import policies
from builders.kit.process.settings import Settings
from soak.scenario import Call, Scenario, Target, client, looping

LOOPS = 6
METHODS = ("get", "post", "put", "patch", "delete")  # later ones may remove what earlier ones read
NOBODYS_ID = "01890a5d-ac96-774b-bcce-b302099a8057"
DOMAINER_SCOPES = ("portfolio:", "registrars:", "transfers:", "team:")  # scopes
Json = Any  # of the document and of responses
_CALENDAR = "/v1/portfolio/renewals.ics"


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """An operation of the document."""

    method: str
    path: str
    details: Mapping[str, Json]

    @property
    def name(self) -> str:
        """Return the method and the path."""
        return f"{self.method.upper()} {self.path}"

    def keys(self, target: Target) -> Sequence[str | None]:
        """Return the keys that may call it; one None for an operation without credentials."""
        if not self.details.get("security"):
            return [None]
        is_domainer = str(self.details.get("x-scope")).startswith(DOMAINER_SCOPES)
        return target.hostile.domainer_keys if is_domainer else target.hostile.developer_keys

    def parameters(self) -> Iterator[Mapping[str, Json]]:
        """Yield the parameters, each as an object."""
        for each in self.details.get("parameters", ()):
            yield _resolve(each)

    def budget(self, keys: int) -> int:
        """Return how many requests the rate limits allow at once to an account with so many keys."""
        declared = {each.name: each for each in policies.list_policies()}
        limits = [declared[name] for name in self.details.get("x-rate-limit") or ("address",)]
        return min(each.quota * (keys if each.by == "key" else 1) for each in limits)

    def query(self, target: Target) -> Mapping[str, Json]:
        """Return the largest allowed numbers, and examples of required parameters."""
        values: dict[str, Json] = {}
        for each in self.parameters():
            if each["in"] != "query":
                continue
            schema = each["schema"]
            largest = schema.get("maximum")
            if self.path == _CALENDAR:
                values[each["name"]] = target.hostile.calendar_token
            elif largest is not None and each["name"] != "wait":  # a long poll does no work
                values[each["name"]] = int(largest)
            elif each.get("required"):
                values[each["name"]] = each.get("example", schema.get("example", "harbour.example"))
        return values

    def body(self) -> Mapping[str, Json]:
        """Return the example of the body as an argument of httpx; nothing without a body."""
        content = self.details.get("requestBody", {}).get("content", {})
        for media_type, described in content.items():
            schema = _resolve(described["schema"])
            example = next(iter(schema.get("examples", ())), None)
            if example is not None:
                return {"data" if "form" in media_type else "json": example}
        return {}


@cache
def _document() -> Mapping[str, Json]:
    document: Mapping[str, Json] = create_app(Settings()).openapi()
    return document


def _resolve(each: Mapping[str, Json]) -> Mapping[str, Json]:
    found: Json = each
    while "$ref" in found:
        reference, found = found["$ref"], _document()
        for part in reference.removeprefix("#/").split("/"):
            found = found[part]
    resolved: Mapping[str, Json] = found
    return resolved


def operations() -> Sequence[Operation]:
    """Return all operations; those that remove something are last, and of these the removal of keys."""
    found = [
        Operation(method=method, path=path, details=details)
        for path, methods in _document()["paths"].items()
        for method, details in methods.items()
    ]
    return sorted(found, key=lambda each: (METHODS.index(each.method), each.path.startswith("/v1/api-keys")))


async def _path(operation: Operation, target: Target) -> str:
    """Return the path with identifiers of existing resources, as far as their collection has any."""
    path = operation.path
    for each in operation.parameters():
        if each["in"] == "path":
            placeholder = f"{{{each['name']}}}"
            collection = path.partition(placeholder)[0].rstrip("/")
            path = path.replace(placeholder, await _identifier(collection, each["name"], operation, target))
    return path


async def _identifier(collection: str, name: str, operation: Operation, target: Target) -> str:
    if name == "domain_id":
        return target.hostile.wide_domain
    async with client(target, operation.keys(target)[0]) as http:
        found = await _first(http, collection, name)
        creating = next((each for each in operations() if each.name == f"POST {collection}"), None)
        if found is None and creating is not None:
            with suppress(httpx.TransportError):
                await http.post(collection, **creating.body())
            found = await _first(http, collection, name)
    return found or NOBODYS_ID


async def _first(http: httpx.AsyncClient, collection: str, name: str) -> str | None:
    answer = await http.get(collection)
    if answer.status_code != httpx.codes.OK:
        return None
    reply = answer.json()
    lists = [each for each in reply.values() if isinstance(each, list)] if isinstance(reply, dict) else []
    item = next((each for items in lists for each in items if isinstance(each, dict)), {})
    return next((str(item[each]) for each in (name, "id", "account_id", "domain") if item.get(each)), None)


@asynccontextmanager
async def _attack(target: Target, operation: Operation) -> AsyncIterator[None]:
    keys = operation.keys(target)
    path, query = await _path(operation, target), operation.query(target)
    clients = [client(target, key) for key in islice(cycle(keys), LOOPS)]
    calls: list[Call] = [
        partial(each.request, operation.method.upper(), path, params=query, **operation.body()) for each in clients
    ]
    try:
        async with looping(calls, budget=operation.budget(len(keys))) as statuses:
            yield
        if keys != [None] and statuses.keys() == {httpx.codes.UNAUTHORIZED}:
            raise RuntimeError(f"{operation.name}: the keys are refused, so nothing is measured.")
    finally:
        for each in clients:
            await each.aclose()


SCENARIOS = [
    Scenario(
        name=each.name,
        description=f"{each.name} in {LOOPS} loops within its rate limits",
        attack=partial(_attack, operation=each),
        is_alone=False,
    )
    for each in operations()
]
