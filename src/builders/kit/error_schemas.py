"""Schemas of errors in the OpenAPI document: RFC 9457 problems, and FastAPI's 422 with additional members."""

from collections.abc import Mapping
from typing import Any

from builders.kit.errors import MAX_ERRORS, MIXED_CODE

Json = dict[str, Any]  # a part of the document

_REQUEST_ID: Json = {
    "type": ["string", "null"],
    "title": "Request Id",
    "description": "The `X-Request-Id` of this response, for requests to the operator's support.",
}
PROBLEM_SCHEMA: Json = {
    "title": "Problem",
    "description": "RFC 9457 problem details. Branch on `code`; `detail` is for people.",
    "type": "object",
    "required": ["type", "title", "status", "detail", "code"],
    "examples": [
        {
            "type": "urn:builders:problem:database_busy",
            "title": "The database is too busy",
            "status": 503,
            "detail": "The database did not answer in time; repeat the request.",
            "code": "database_busy",
            "request_id": "9f8c1d2e3b4a59687786958473625140",
            "retry_after": 1,
        }
    ],
    "properties": {
        "type": {
            "type": "string",
            "description": "URN of the kind of problem: `urn:builders:problem:` and `code`.",
        },
        "title": {"type": "string", "description": "The problem in a few words, the same for each occurrence."},
        "status": {"type": "integer", "description": "The HTTP status, repeated."},
        "detail": {
            "type": "string",
            "description": "Text for people: the cause of this occurrence. It can change.",
        },
        "code": {
            "type": "string",
            "description": "Stable name of the kind of problem; branch on it. The examples of each response list "
            "the known codes of an operation; more can be added.",
        },
        "request_id": _REQUEST_ID,
        "next_action": {"type": "string", "description": "The remedy, as a sentence."},
        "did_you_mean": {"type": "string", "description": "The known path that is closest to the requested path."},
        "exists_in_mode": {
            "enum": ["live", "test"],
            "description": "With a 404: the mode in which the account has this id. Use a key of this mode.",
        },
        "retry_after": {
            "type": "integer",
            "description": "Seconds to wait before repeating the request, as in `Retry-After`.",
        },
        "violated_policies": {
            "type": "array",
            "items": {"type": "string"},
            "description": "The exhausted rate limits, by the names of `x-rate-limit`.",
        },
    },
}

VALIDATION_SCHEMAS: Mapping[str, Json] = {
    "HTTPValidationError": {
        "title": "HTTPValidationError",
        "description": "One or more values of the request are invalid; the request had no effect.",
        "type": "object",
        "properties": {
            "detail": {
                "type": "array",
                "title": "Detail",
                "items": {"$ref": "#/components/schemas/ValidationError"},
                "description": f"The errors, {MAX_ERRORS} at most.",
            },
            "code": {
                "type": "string",
                "title": "Code",
                "description": f"The `type` that all errors of `detail` have, or `{MIXED_CODE}`. "
                "More can be added.",
            },
            "request_id": _REQUEST_ID,
            "next_action": {
                "type": "string",
                "title": "Next Action",
                "description": "Text for people: the remedy.",
            },
        },
    },
    "ValidationError": {
        "title": "ValidationError",
        "description": "An invalid value of the request.",
        "type": "object",
        "required": ["loc", "msg", "type"],
        "properties": {
            "loc": {
                "type": "array",
                "title": "Location",
                "items": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
                "description": "Path to the value: `body`, `query`, `path`, `header` or `cookie`, then names and "
                'positions, such as `["body", "events", 0]`.',
            },
            "msg": {"type": "string", "title": "Message", "description": "Text for people: the error."},
            "type": {
                "type": "string",
                "title": "Error Type",
                "description": "Stable name of the broken rule, such as `missing` or `cursor_invalid`; more can "
                "be added.",
            },
            "did_you_mean": {"type": "string", "description": "The known name or value that is closest."},
        },
    },
}
