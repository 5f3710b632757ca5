"""Every operation requires a known scope or is listed as public."""

from collections.abc import Collection, Iterator

import pytest

from builders.identity.scopes import DESCRIPTIONS
from tests.contract.document import Json, operations
from tests.contract.operations import PUBLIC
from tests.published import published


def unscoped(document: Json, *, known: Collection[str], public: Collection[str]) -> Iterator[str]:
    """Yield operations that are neither scoped nor public, are both, or require an unknown scope."""
    for name, operation in operations(document).items():
        scope = operation.get("x-scope")
        if scope is None and name not in public:
            yield f"{name}: names no scope and is not public"
        if scope is not None and name in public:
            yield f"{name}: is public, but asks for {scope}"
        if scope is not None and scope not in known:
            yield f"{name}: asks for {scope}, which is not in the catalog"


def test_every_operation_names_a_scope_or_is_public() -> None:
    document = published().document
    assert any("x-scope" in operation for operation in operations(document).values())
    assert list(unscoped(document, known=DESCRIPTIONS, public=PUBLIC)) == []


@pytest.mark.parametrize(
    ("operation", "errors"),
    [
        ({}, ["GET /v1/things: names no scope and is not public"]),
        ({"x-scope": "things:eat"}, ["GET /v1/things: asks for things:eat, which is not in the catalog"]),
        ({"x-scope": "things:read"}, []),
    ],
)
def test_an_operation_without_a_good_scope_is_reported(operation: Json, errors: list[str]) -> None:
    document = {"paths": {"/v1/things": {"get": operation}, "/livez": {"get": {}}}}
    assert list(unscoped(document, known={"things:read"}, public={"GET /livez"})) == errors


def test_a_public_operation_with_a_scope_is_reported() -> None:
    document = {"paths": {"/livez": {"get": {"x-scope": "things:read"}}}}
    assert list(unscoped(document, known={"things:read"}, public={"GET /livez"})) == [
        "GET /livez: is public, but asks for things:read"
    ]
