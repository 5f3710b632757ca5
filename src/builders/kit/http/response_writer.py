"""Write responses from the results of handlers."""

from collections.abc import Mapping
from typing import Any

from fastapi import Response
from fastapi.routing import APIRoute
from pydantic import TypeAdapter, ValidationError

from builders.kit.http import bodies
from builders.kit.http.pagination import JsonPage
from builders.kit.http.parameters import Values

_EMPTY = {204, 205}  # statuses without a body


class ResponseWriter:
    """Writes the responses of one route."""

    def __init__(self, route: APIRoute) -> None:
        self._handler = route.endpoint.__name__
        self._adapter = None if route.response_field is None else TypeAdapter[Any](route.response_model)
        self._model = route.response_model
        self._status = route.status_code or 200
        self.collection: str | None = None  # of a route that creates: the path below which `GET /{id}` reads
        self._body_names = [field.name for field in route.dependant.body_params]

    def write(self, result: Any, values: Values) -> tuple[Response, bytes]:
        """Return the response, and its body without secrets, which is stored for a replay."""
        headers: Mapping[str, str] = {}
        if isinstance(result, bodies.ReplyWithHeaders):
            result, headers = result.reply, result.headers
        if isinstance(result, Response):
            return result, bytes(result.body) if hasattr(result, "body") else b""
        if isinstance(result, JsonPage):
            text = result.json()
            return bodies.RawJsonResponse(text, self._status), text
        if self._adapter is None:
            if result is not None or self._status not in _EMPTY:
                raise TypeError(f"{self._handler} has no reply model for its result")
            return Response(status_code=self._status), b""
        try:
            is_validated = type(result) is self._model  # then it was validated when it was created
            value = (
                result if is_validated else self._adapter.validator.validate_python(result, from_attributes=True)
            )
        except ValidationError as error:
            raise TypeError(f"{self._handler} returned a result that does not match its reply model") from error
        bodies.add_warnings(value, *(values[name] for name in self._body_names))
        if self.collection is not None and hasattr(value, "id"):
            headers = {**headers, "Location": f"{self.collection}/{value.id}"}
        text = self._adapter.serializer.to_json(value, by_alias=True)
        once = value.shown_once if isinstance(value, bodies.Reply) else ()
        left_out = dict(once) if isinstance(once, Mapping) else set(once)
        stored = self._adapter.serializer.to_json(value, by_alias=True, exclude=left_out) if once else text
        return bodies.RawJsonResponse(text, self._status, headers, has_secret=bool(once)), stored
