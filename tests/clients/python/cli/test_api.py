"""`bld api`: every operation of the document."""

from pathlib import Path
from typing import Any

import pytest

from builders_client import wire
from builders_client.cli import api
from builders_client.cli.faults import Fault
from builders_client.generated.operations import OPERATIONS
from builders_client.retries import Retries
from tests.clients.python.cli.make import Bld
from tests.published import published

OPTIONS = wire.Options(base_url="http://builders.test", api_key="svc_test_key", live_key=None, retries=Retries())


def documented() -> list[tuple[str, str, str, dict[str, Any]]]:
    paths: dict[str, Any] = published().document["paths"]
    return [
        (told["operationId"], method.upper(), path, told)
        for path, methods in paths.items()
        for method, told in methods.items()
    ]


def test_every_operation_of_the_document_is_reachable() -> None:
    for name, method, path, _ in documented():
        operation = api.find(name)
        values = [f"{part}=x" for part in api._in_path(operation)]
        parts = api.read_values(operation, [*values, *(f"{each}:=1" for each in operation.required)], None)
        request = wire.build(
            operation, OPTIONS, path=parts.path, query=parts.query, headers=parts.headers, body=parts.body or None
        )
        filled = path
        for part in api._in_path(operation):
            filled = filled.replace("{" + part + "}", "x")
        assert (request.method, request.url) == (method, f"http://builders.test{filled}")


async def test_the_operations_are_listed(bld: Bld) -> None:
    done = await bld("api", "--json", "id")
    assert {each["id"] for each in done.json} == {name for name, *_ in documented()} == OPERATIONS.keys()


async def test_values_go_to_the_body_the_path_and_the_query(bld: Bld) -> None:
    made = await bld("api", "projects.create", "name=Acme", "default_destination=ada@example.net")
    assert made.json["name"] == "Acme", made.err
    read = await bld("api", "projects_get", f"project_id={made.json['id']}", "--json", "name")
    assert read.json == {"name": "Acme"}
    listed = await bld("api", "projects_list_projects", "limit=1", "include_archived=true")
    assert len(listed.json["items"]) == 1


async def test_the_body_is_read_from_a_file(bld: Bld, tmp_path: Path) -> None:
    (tmp_path / "body.json").write_text('{"name": "Acme", "default_destination": "ada@example.net"}')
    done = await bld("api", "projects_create", "--input", str(tmp_path / "body.json"), "--json", "name")
    assert done.json == {"name": "Acme"}


async def test_a_key_makes_a_request_repeatable(bld: Bld) -> None:
    words = ("api", "projects_create", "name=Acme", "--idempotency-key", "again", "--json", "id")
    assert (await bld(*words)).json == (await bld(*words)).json


async def test_an_unknown_member_is_sent_and_its_refusal_is_shown(bld: Bld) -> None:
    words = ("api", "api_keys_create", "label=x", "key_kind=test", "preset=developer_full")
    done = await bld(*words, "expire_at=2030-01-01T00:00:00Z")
    assert (done.code, "expire_at" in done.err, "expires_at" in done.err) == (1, True, True)


@pytest.mark.parametrize("text", ['{"name": "a", "name": "b"}', '{"name": "a", "labels": [{"x": 1, "x": 2}]}'])
async def test_a_repeated_member_of_a_file_is_not_dropped(bld: Bld, tmp_path: Path, text: str) -> None:
    (tmp_path / "body.json").write_text(text)
    done = await bld("api", "projects_create", "--input", str(tmp_path / "body.json"))
    assert (done.code, "twice" in done.err) == (2, True)


async def test_a_repeated_member_of_the_command_is_not_dropped(bld: Bld) -> None:
    done = await bld("api", "projects_create", "name=a", "name=b")
    assert (done.code, "name is there twice" in done.err) == (2, True)


async def test_a_byte_order_mark_of_a_file_is_ignored(bld: Bld, tmp_path: Path) -> None:
    (tmp_path / "body.json").write_bytes(b'\xef\xbb\xbf{"name": "Acme"}')
    done = await bld("api", "projects_create", "--input", str(tmp_path / "body.json"), "--json", "name")
    assert done.json == {"name": "Acme"}, done.err


async def test_an_unknown_operation_names_the_closest(bld: Bld) -> None:
    done = await bld("api", "projects_list")
    assert (done.code, "projects_list_projects" in done.err) == (2, True)


async def test_missing_values_are_named(bld: Bld) -> None:
    done = await bld("api", "projects_get")
    assert (done.code, "project_id=…" in done.err) == (2, True)


@pytest.mark.parametrize("value", ["nonsense", "=x", "a:={", "a:=nope"])
def test_a_value_without_a_form_is_a_usage_error(value: str) -> None:
    with pytest.raises(Fault) as caught:
        api.read_values(OPERATIONS["projects_create"], [value], None)
    assert caught.value.code == 2


async def test_a_path_value_cannot_name_another_path(bld: Bld) -> None:
    assert (await bld("api", "projects_get", "project_id=..")).code == 2


async def test_all_pages_are_lines(bld: Bld) -> None:
    for name in ("one", "two", "three"):
        await bld("api", "projects_create", f"name={name}")
    done = await bld("api", "projects_list_projects", "limit=1", "--all", "--json", "name")
    assert done.out.count("\n") == 3
