"""Refusals: each has a code of its own, words, and one form."""

import json
import re
from typing import Any

import pytest
from hypothesis import given, strategies as st
from structlog.contextvars import bound_contextvars

from builders import app, worker
from builders.kit import errors
from builders.kit.errors import BadRequest, DatabaseUnavailable, Invalid, NotFound, Problem, problems
from builders.kit.http.callers import CredentialsInvalid, CredentialsMissing

IMPORTED = {app, worker}  # imported for what they declare
REFUSALS = sorted(
    {each for each in errors.list_problem_types() if each.__module__.startswith("builders.")},
    key=lambda each: each.code,
)


@pytest.mark.parametrize("refusal", REFUSALS, ids=lambda each: each.__name__)
def test_a_problem_has_a_status_a_code_and_a_title(refusal: type[Problem]) -> None:
    assert 400 <= refusal.status < 600
    assert refusal.status != 422  # that is Invalid's, in another form
    assert re.fullmatch(r"[a-z]+(_[a-z]+)*", refusal.code)
    assert {"status", "code", "__doc__"} <= vars(refusal).keys()
    assert re.fullmatch(r"[A-Z][^.\n]{5,70}", refusal.title()), refusal.title()


def test_every_code_belongs_to_one_problem() -> None:
    codes = [refusal.code for refusal in REFUSALS]
    assert len(REFUSALS) > 20
    assert sorted({code for code in codes if codes.count(code) > 1}) == []


def read(answer: Any) -> tuple[int, str, Any]:
    return answer.status_code, answer.headers["content-type"], json.loads(answer.body)


def test_a_problem_is_written_as_problem_json() -> None:
    refused = DatabaseUnavailable(
        "Gone fishing.", retry_after=5, next_action="Wait.", headers={"X-Pond": "near"}, fish=[1, 2]
    )

    with bound_contextvars(request_id="request-1"):
        answer = refused.response()

    assert read(answer) == (
        503,
        "application/problem+json",
        {
            "type": "urn:builders:problem:database_unavailable",
            "title": "The database is unavailable",
            "status": 503,
            "detail": "Gone fishing.",
            "code": "database_unavailable",
            "request_id": "request-1",
            "fish": [1, 2],
            "next_action": "Wait.",
            "retry_after": 5,
        },
    )
    assert (answer.headers["retry-after"], answer.headers["x-pond"]) == ("5", "near")


def test_a_problem_outside_a_request_has_no_request_id() -> None:
    _, _, body = read(BadRequest("No.").response())
    assert body["request_id"] is None
    assert "retry_after" not in body
    assert body["next_action"] == BadRequest.remedy


def test_members_of_one_problem_do_not_appear_in_the_next() -> None:
    headers = {"X-Pond": "near"}
    assert BadRequest("No.", headers=headers, retry_after=1).headers == {"X-Pond": "near", "Retry-After": "1"}
    assert headers == {"X-Pond": "near"}
    assert BadRequest("No.").headers == {}
    assert BadRequest("No.").members == {"next_action": BadRequest.remedy}


@given(detail=st.text())
def test_any_detail_can_be_sent(detail: str) -> None:
    _, _, body = read(NotFound(detail).response())
    assert body["detail"] == detail


def test_an_invalid_value_is_an_http_validation_error() -> None:
    with bound_contextvars(request_id="request-1"):
        answer = Invalid(("body", "items", 3), "Too blue.", "colour").response()
    assert read(answer) == (
        422,
        "application/json",
        {
            "detail": [{"loc": ["body", "items", 3], "msg": "Too blue.", "type": "colour"}],
            "code": "colour",
            "request_id": "request-1",
            "next_action": "Correct body.items.3 as `detail` says, and send the request again.",
        },
    )


def test_the_code_of_an_invalid_request_is_the_common_type_of_its_errors() -> None:
    def code(*kinds: str) -> str:
        answer = Invalid.many([{"loc": ("body",), "msg": "Wrong.", "type": kind} for kind in kinds]).response()
        found: str = read(answer)[2]["code"]
        return found

    assert (code("missing"), code("missing", "missing")) == ("missing", "missing")
    assert code("missing", "string_too_short") == errors.MIXED_CODE


def test_the_next_action_of_an_invalid_request_suggests_the_right_member() -> None:
    found: list[dict[str, Any]] = [
        {
            "loc": ("body", "destination"),
            "msg": "?",
            "type": "unknown_field",
            "ctx": {"did_you_mean": "destinations"},
        },
        *({"loc": ("body", name), "msg": "?", "type": "missing"} for name in "abc"),
    ]
    _, _, body = read(Invalid.many(found).response())
    assert body["detail"][0]["did_you_mean"] == "destinations"
    assert body["next_action"] == (
        "Correct body.destination (did you mean destinations?), body.a, body.b as `detail` says, "
        "and send the request again."
    )


def test_input_values_are_not_echoed() -> None:
    given = {"loc": ("body", "key"), "msg": "Wrong.", "type": "wrong"}
    found = Invalid.many([{**given, "input": "hidden", "ctx": {"hidden": 1}, "url": "hidden"}])
    assert found.errors == [{**given, "loc": ["body", "key"]}]


def test_responses_of_a_route_are_grouped_by_status() -> None:
    found = problems(CredentialsMissing, BadRequest, CredentialsInvalid)

    assert list(found) == [401, 400]
    assert found[401]["description"] == (
        "`credentials_missing`: Credentials are missing; `credentials_invalid`: The credentials are not valid"
    )
    assert list(found[401]["content"]) == ["application/problem+json"]
