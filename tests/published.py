"""Validation of responses by the OpenAPI document: an undocumented status or body fails the test."""

import json
import re
from functools import cache
from typing import Any

import httpx

from builders.app import create_app
from builders.kit.process.settings import Settings
from tests.contract.document import validators, whole

# What every operation may answer, whatever its own list says.
EVERYWHERE = {"410", "500"}  # 410: each cursor, after a restore


class Published:
    """The OpenAPI document of the service."""

    def __init__(self, document: dict[str, Any]) -> None:
        self.document = document
        self._paths = [
            (re.compile(re.sub(r"\{\w+\}", "[^/]+", path)), path, "{" in path) for path in document["paths"]
        ]
        self._paths.sort(key=lambda each: each[2])
        self._validator_of = validators(document)
        self._validators: dict[str, Any] = {}

    def operation(self, method: str, path: str) -> dict[str, Any] | None:
        """Return the published operation of a request."""
        # Literal paths come first, and have no methods of a template that fits too.
        name = next((name for pattern, name, _ in self._paths if pattern.fullmatch(path)), None)
        if name is None:
            return None
        # What is said of GET holds for HEAD (RFC 9110, 9.3.2).
        found: dict[str, Any] | None = self.document["paths"][name].get(
            "get" if method == "HEAD" else method.lower()
        )
        return found and whole(self.document, found)

    def check(self, response: httpx.Response) -> None:
        """Raise AssertionError when the response does not fit the document."""
        request = response.request
        operation = self.operation(request.method, request.url.path)
        if operation is None:
            own = (
                {303, 400, 401, 403, 409, 410, 412, 424, 429, 503}
                if request.url.path.startswith(
                    ("/console", "/mcp", "/oauth", "/.well-known/oauth", "/v1/auth/login/work")
                )
                else set[int]()
            )
            assert response.status_code in {200, 204, 304, 308, 404, 405, 413, 422} | own, (
                request.url.path,
                response.status_code,
            )
            return
        status = str(response.status_code)
        if status in EVERYWHERE and status not in operation["responses"]:
            return
        if (request.method, status) == ("HEAD", "405"):  # where a GET does something, a HEAD is refused
            return
        where = f"{request.method} {request.url.path} answered {status}"
        assert status in operation["responses"], f"{where}, which is not published: {response.text[:300]}"
        media = response.headers.get("content-type", "").partition(";")[0]
        content = operation["responses"][status].get("content", {})
        if media == "application/x-ndjson":
            assert media in content, f"{where} as {media}, not as {sorted(content)}"
            assert all(map(json.loads, response.text.splitlines())), f"{where} with a line that is no object"
            return
        if not content or not response.content or not media.endswith("json"):
            return
        assert media in content, f"{where} as {media}, not as {sorted(content)}"
        validator = self._validator(content[media]["schema"])
        errors = [f"{error.instance_path}: {error.message}" for error in validator.iter_errors(response.json())]
        assert not errors, f"{where} with another shape: {errors[:5]}"

    def _validator(self, schema: dict[str, Any]) -> Any:
        text = json.dumps(schema)
        if text not in self._validators:
            self._validators[text] = self._validator_of(schema)
        return self._validators[text]


@cache
def published() -> Published:
    """Return the validator of all services, because no setting changes the document."""
    return Published(create_app(Settings()).openapi())
