"""Every check of the contract, tried on a document that keeps it and on ones that break it."""

from copy import deepcopy
from functools import cache
from typing import Annotated, Any, Literal

import pytest
from fastapi import Cookie, Depends, FastAPI, Header, Query
from pydantic import BaseModel, ConfigDict

from tests.contract import checks
from tests.contract.document import Json
from tests.contract.shape import Auth, Body, query, row

READ = row("GET /v1/things", query("limit", "integer", low=1, high=24, default=12), query("q"), auth=Auth.PUBLIC)
MAKE = row("POST /v1/things/{shop}", body="ThingCreate", status=201, scope="things:write")
NOTE = row("POST /v1/notes", body=Body.OPTIONAL)
LATER = row("GET /v1/later", auth=Auth.PUBLIC)
EXPECTED = {each.name: each for each in (READ, MAKE, NOTE, LATER)}
PENDING = frozenset({LATER.name})
MEMBERS = {MAKE.name: {"label": True, "note": False}}
CLOSED = {MAKE.name: {"kind": {"live", "test"}}}


class ThingCreate(BaseModel):
    model_config = ConfigDict(json_schema_extra={"examples": [{"label": "a thing", "kind": "test"}]})

    label: str
    kind: Literal["live", "test"]
    note: str | None = None


class ThingReply(BaseModel):
    model_config = ConfigDict(json_schema_extra={"examples": [{"id": "1"}]})

    id: str


class ThingsReply(BaseModel):
    model_config = ConfigDict(json_schema_extra={"examples": [{"items": [{"id": "1"}]}]})

    items: list[ThingReply]


def credentials(
    authorization: Annotated[str | None, Header(alias="Authorization")] = None,
    x_api_key: Annotated[str | None, Header(alias="X-API-Key")] = None,
    svc_access_token: Annotated[str | None, Cookie()] = None,
) -> None: ...


def refused(*statuses: int) -> dict[int | str, dict[str, Any]]:
    schema = {"$ref": "#/components/schemas/ThingReply"}
    return {each: {"content": {checks.PROBLEM: {"schema": schema}}} for each in statuses}


@cache
def kept() -> Json:
    """The document of a small service that keeps the whole contract."""
    app = FastAPI(description="Things.")

    @app.get("/v1/things", operation_id="things_list", response_model=ThingsReply, summary="List the things")
    async def listed(limit: Annotated[int, Query(ge=1, le=24)] = 12, q: str | None = None) -> None: ...

    @app.post(
        "/v1/things/{shop}",
        operation_id="things_create",
        summary="Put a thing on a shop",
        dependencies=[Depends(credentials)],
        status_code=201,
        response_model=ThingReply,
        responses=refused(401, 403, 413, 503),
        openapi_extra={"x-scope": "things:write"},
    )
    async def create(shop: str, body: ThingCreate) -> None: ...

    @app.post(
        "/v1/notes",
        operation_id="notes_create",
        summary="Make a note",
        dependencies=[Depends(credentials)],
        response_model=ThingReply,
        responses=refused(413),
    )
    async def note(body: ThingReply | None = None) -> None: ...

    @app.get(
        "/v1/more",
        operation_id="more_list",
        summary="List more",
        openapi_extra={"x-beyond": True},
        response_model=ThingsReply,
    )
    async def more() -> None: ...

    return app.openapi()


def complaints(document: Json, pending: frozenset[str] = PENDING) -> list[str]:
    """What all checks together say."""
    return [
        *checks.presence(document, EXPECTED, pending),
        *checks.statuses(document, EXPECTED),
        *checks.given_parameters(document, EXPECTED),
        *checks.bodies(document, EXPECTED),
        *checks.members(document, MEMBERS, CLOSED),
        *checks.credentials(document, EXPECTED),
        *checks.named_scopes(document, EXPECTED),
        *checks.refusals(document),
        *checks.whole(document),
        *checks.examples(document),
        *checks.fit_for_clients(document),
    ]


def test_a_document_that_keeps_the_contract_gives_no_complaint() -> None:
    assert complaints(kept()) == []


def test_a_pending_operation_that_is_built_is_named() -> None:
    assert complaints(kept(), PENDING | {READ.name}) == ["GET /v1/things: built, so take it off the pending list"]


def test_an_operation_neither_built_nor_pending_is_named() -> None:
    assert complaints(kept(), frozenset()) == ["GET /v1/later: not in the document"]


def test_a_pending_operation_of_no_table_is_named() -> None:
    assert complaints(kept(), PENDING | {"GET /v1/dream"}) == ["GET /v1/dream: pending, but in no table"]


READ_AT = ("paths", "/v1/things", "get")
MAKE_AT = ("paths", "/v1/things/{shop}", "post")
NOTE_AT = ("paths", "/v1/notes", "post")
MORE_AT = ("paths", "/v1/more", "get")
LIMIT_AT = (*READ_AT, "parameters", 0)
THING_AT = ("components", "schemas", "ThingCreate")
GONE = object()

# Where the kept document is changed, to what, and what is then said.
BREACHES: list[tuple[tuple[str | int, ...], object, str]] = [
    ((*READ_AT, "x-beyond"), True, "GET /v1/things: x-beyond"),
    ((*MORE_AT, "x-beyond"), GONE, "GET /v1/more: x-beyond"),
    ((*READ_AT, "responses", "201"), {"description": "Created"}, "answers ['200', '201'], not 200 alone"),
    ((*MAKE_AT, "responses", "201"), GONE, "answers [], not 201 alone"),
    (LIMIT_AT, GONE, "lists no query parameter limit"),
    ((*LIMIT_AT, "name"), "Limit", "lists no query parameter limit"),
    ((*LIMIT_AT, "schema", "maximum"), 25, "limit has maximum 25, not 24"),
    ((*LIMIT_AT, "schema", "minimum"), GONE, "limit has minimum None, not 1"),
    ((*LIMIT_AT, "schema", "default"), "12", "limit has default '12', not 12"),
    ((*LIMIT_AT, "schema", "type"), "number", "limit has type 'number', not 'integer'"),
    ((*LIMIT_AT, "required"), True, "limit has required True, not False"),
    ((*READ_AT, "parameters", 1, "schema", "default"), "", "q has default '', not None"),
    ((*MAKE_AT, "parameters", 0, "schema", "format"), "uuid", "shop has format 'uuid', not None"),
    ((*MAKE_AT, "parameters", 0, "schema", "pattern"), "^a", "shop is bounded"),
    ((*MAKE_AT, "parameters", 1, "required"), True, "Authorization is required"),
    ((*MAKE_AT, "requestBody", "required"), False, "the body is optional, not required"),
    ((*MAKE_AT, "requestBody"), GONE, "the body is absent, not required"),
    ((*NOTE_AT, "requestBody", "required"), True, "the body is required, not optional"),
    ((*READ_AT, "requestBody"), {"content": {}}, "the body is optional, not absent"),
    ((*NOTE_AT, "requestBody", "content"), {"text/csv": {}}, "the body is not JSON"),
    (
        (*MAKE_AT, "requestBody", "content", "application/json", "schema", "$ref"),
        "#/components/schemas/ThingReply",
        "the body's type is not ThingCreate",
    ),
    (
        ("components", "schemas", "ThingReply", "additionalProperties"),
        False,
        "POST /v1/notes: the body does not take any JSON object",
    ),
    ((*THING_AT, "required"), ["kind"], "label is missing, or not required"),
    ((*THING_AT, "required"), ["kind", "label", "note"], "note is missing, or not optional"),
    ((*THING_AT, "properties", "kind", "enum"), ["live"], "kind is not one of ['live', 'test']"),
    ((*MAKE_AT, "parameters", 2, "name"), "x-api-key", "lists the credentials"),
    ((*MAKE_AT, "parameters", 3), GONE, "lists the credentials"),
    ((*LIMIT_AT, "in"), "header", "lists no query parameter limit"),
    ((*MAKE_AT, "parameters", 2, "schema"), {"type": "integer"}, "X-API-Key is not an optional string"),
    ((*MAKE_AT, "x-scope"), "things:read", "needs things:read, not things:write"),
    ((*MAKE_AT, "responses", "422"), GONE, "422 is not HTTPValidationError"),
    ((*READ_AT, "responses", "422", "content"), {}, "422 is not HTTPValidationError"),
    ((*MAKE_AT, "responses", "403"), GONE, "does not say 401 and 403"),
    ((*MAKE_AT, "responses", "401", "content"), {"application/json": {}}, "401 is not application/problem"),
    ((*READ_AT, "operationId"), "list_v1_things__get", "is no fit operationId"),
    ((*READ_AT, "operationId"), "more_list", "shares its operationId more_list"),
    ((*MAKE_AT, "responses", "413"), GONE, "has a body, but does not say 413"),
    ((*MAKE_AT, "responses", "503"), GONE, "needs the database to know the caller, but does not say 503"),
    (("info", "description"), "", "info: has no description"),
    ((*THING_AT, "examples"), GONE, "POST /v1/things/{shop}: no example of ThingCreate"),
    (("components", "schemas", "ThingsReply", "examples"), [], "GET /v1/things: no example of ThingsReply"),
    ((*THING_AT, "examples", 0, "kind"), "dead", "ThingCreate: its example is wrong at ['kind']: \"dead\""),
    ((*THING_AT, "examples", 0, "labels"), {}, "ThingCreate: its example has labels, which is no member"),
    ((*READ_AT, "summary"), GONE, "GET /v1/things: '' is no sentence"),
    ((*READ_AT, "summary"), "List", "GET /v1/things: 'List' is no sentence"),
    ((*READ_AT, "summary"), "List Things", "GET /v1/things: 'List Things' is no sentence"),
    ((*READ_AT, "summary"), "list of things", "GET /v1/things: 'list of things' is no sentence"),
    ((*READ_AT, "summary"), "List the things.", "GET /v1/things: 'List the things.' is no sentence"),
    (("components", "schemas", "rooms__things__ThingReply"), {}, "another schema has this name"),
    ((*READ_AT, "responses", "200", "content"), {}, "200 with content []"),
    ((*READ_AT, "responses", "200", "content", "application/json", "schema"), {}, "200 is untyped JSON"),
    (
        (*READ_AT, "responses", "200", "content", "application/json", "schema"),
        {"type": "object", "additionalProperties": True},
        "200 is untyped JSON",
    ),
    (("components", "schemas", "ValidationError"), GONE, "ValidationError: referred to, but not there"),
]


@pytest.mark.parametrize(("where", "value", "said"), BREACHES)
def test_each_breach_is_said(where: tuple[str | int, ...], value: object, said: str) -> None:
    document = deepcopy(kept())
    place: Any = document
    for step in where[:-1]:
        place = place[step]
    if value is GONE:
        del place[where[-1]]
    else:
        place[where[-1]] = value
    assert any(said in each for each in complaints(document)), complaints(document)


def test_an_answer_that_is_a_report_has_a_form_of_its_own() -> None:
    document = deepcopy(kept())
    answers = document["paths"]["/v1/more"]["get"]["responses"]
    answers["503"] = {"content": {"application/json": {}}}
    assert list(checks.refusals(document)) == ["GET /v1/more: 503 is not application/problem+json"]
    assert list(checks.refusals(document, {"GET /v1/more 503"})) == []


def test_credentials_beyond_the_specification_are_said() -> None:
    document = deepcopy(kept())
    document["paths"]["/v1/more"]["get"]["parameters"] = document["paths"]["/v1/notes"]["post"]["parameters"]
    said = complaints(document)
    assert "GET /v1/more: lists the credentials ['Authorization', 'X-API-Key', 'svc_access_token']" in said


def test_credentials_on_a_public_operation_are_said() -> None:
    document = deepcopy(kept())
    shown = document["paths"]["/v1/things"]["get"]["parameters"]
    shown += document["paths"]["/v1/notes"]["post"]["parameters"]
    assert complaints(document) == [
        "GET /v1/things: lists the credentials ['Authorization', 'X-API-Key', 'svc_access_token']"
    ]
