"""`GET /v1/sandbox/manifest.schema.json`: the schema and the service accept and refuse the same manifests."""

from collections.abc import Callable
from typing import Any

import jsonschema_rs
import pytest

from builders.plans.schemas.manifests import SandboxManifest
from tests.cast import Client, Person
from tests.plans.make import PLAN, Json, alias, full_manifest, webhook

SCHEMA = "/v1/sandbox/manifest.schema.json"
ADA = alias("ada@harbour.example")
FULL = full_manifest(
    projects=[{"key": "acme", "name": "Acme", "allowed_domains": ["harbour.example"], "alias_limit": 5}],
    domains=[{"key": "own", "domain": "own.example", "catch_all": True, "default_destination": "ada@example.net"}],
    webhooks=[webhook("main"), webhook("copy", signing_secret_ref="main")],
    aliases=[ADA, {"key": "grace", "local_part": "grace", "domain": "harbour.example", "project": "acme"}],
    project="acme",
    prune=True,
    on_conflict="adopt",
)


@pytest.fixture
async def schema(anyone: Client) -> Json:
    """Read the schema without credentials."""
    answer = await anyone.get(SCHEMA)
    assert answer.status_code == 200
    found: Json = answer.json()
    return found


async def test_the_schema_has_a_stable_id(schema: Json) -> None:
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["$id"] == f"http://builders.test{SCHEMA}"
    jsonschema_rs.meta.validate(schema)


async def test_the_schema_is_made_once(schema: Json, anyone: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """Anyone can request it, and making it holds the event loop."""
    monkeypatch.setattr(SandboxManifest, "model_json_schema", None)
    assert (await anyone.get(SCHEMA)).json() == schema


async def test_the_examples_of_the_schema_are_valid(schema: Json) -> None:
    check = jsonschema_rs.validator_for(schema)
    for example in schema["examples"]:
        check.validate(example)


@pytest.mark.parametrize(
    "good", [FULL, full_manifest(), full_manifest(aliases=[ADA]), full_manifest(webhooks=[webhook("main")])]
)
async def test_a_manifest_that_the_schema_accepts_is_planned(alice: Person, schema: Json, good: Json) -> None:
    jsonschema_rs.validator_for(schema).validate(good)
    assert (await alice.post(PLAN, json=good)).status_code == 200


def without(name: str) -> Callable[[Json], Json]:
    return lambda body: {each: value for each, value in body.items() if each != name}


def plus(**members: Any) -> Callable[[Json], Json]:
    return lambda body: {**body, **members}


def resource(kind: str, each: Json) -> Callable[[Json], Json]:
    return lambda body: {**body, "resources": {kind: [each]}}


@pytest.mark.parametrize(
    "broken",
    [
        without("api_version"),
        without("metadata"),
        without("resources"),
        plus(api_version="v2"),
        plus(kind="List"),
        plus(prone=True),
        plus(prune="yes"),
        plus(on_conflict="steal"),
        plus(project=""),
        plus(metadata={"name": "Not a slug"}),
        plus(resources={"alias": []}),
        resource("aliases", {"key": "ada", "destinations": ["ada@example.net"]}),
        resource("aliases", {**ADA, "destinations": []}),
        resource("aliases", {**ADA, "owner": "ada"}),
        resource("aliases", {**ADA, "key": "-"}),
        resource("projects", {"key": "acme"}),
        resource("projects", {"key": "acme", "name": "Acme", "slug": "No"}),
        resource("projects", {"key": "acme", "name": "Acme", "alias_limit": 0}),
        resource("projects", {"key": "acme", "name": "Acme", "webhook_ids": ["x"]}),
        resource("domains", {"key": "own"}),
        resource("domains", {"key": "own", "domain": "own.example", "catch_all": 1}),
        resource("webhooks", without("url")(webhook("main"))),
        resource("webhooks", webhook("main", events=[])),
        resource("webhooks", webhook("main", signing_secret="whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")),
        resource("webhooks", webhook("main", signing_secret_ref="whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")),
    ],
)
async def test_a_manifest_that_the_schema_refuses_is_refused(
    alice: Person, schema: Json, broken: Callable[[Json], Json]
) -> None:
    body = broken(FULL)
    assert not jsonschema_rs.validator_for(schema, validate_formats=True).is_valid(body)
    assert (await alice.post(PLAN, json=body)).status_code == 422


async def test_a_typo_has_a_suggestion(alice: Person) -> None:
    body = full_manifest(
        webhooks=[{**webhook("main"), "lable": "x"}], projects=[{"key": "acme", "name": "A", "slg": "a"}]
    )
    answer = await alice.post(PLAN, json=body)
    said = {tuple(each["loc"][-2:]): each["msg"] for each in answer.json()["detail"]}
    assert "'label'" in said[0, "lable"]
    assert "'slug'" in said[0, "slg"]


async def test_two_thousand_resources_are_the_maximum(alice: Person) -> None:
    names = [alias(f"n{at}@nowhere.example") for at in range(1999)]
    most = full_manifest(aliases=names, projects=[{"key": "acme", "name": "Acme"}])
    assert (await alice.post(PLAN, json=most)).status_code == 200
    most["resources"]["webhooks"] = [webhook("main")]
    (error,) = (await alice.post(PLAN, json=most)).json()["detail"]
    assert (error["loc"], error["type"]) == (["body", "resources"], "too_many_resources")


async def test_a_manifest_over_a_megabyte_is_refused(alice: Person) -> None:
    labels = {f"l{at}": "v" * 500 for at in range(20)}
    body = full_manifest(aliases=[alias(f"n{at}@nowhere.example", labels=labels) for at in range(110)])
    answer = await alice.post(PLAN, json=body)
    assert (answer.status_code, answer.json()["code"]) == (413, "manifest_too_large")
