"""The FastAPI application: its error responses, the OpenAPI document and the page that shows it."""

import asyncio
import json
import re
import shlex
from collections.abc import Callable, Mapping
from functools import partial
from threading import Lock
from typing import Any

from fastapi import FastAPI, HTTPException, Request, Response
from fastapi.exceptions import RequestValidationError
from jinja2 import Environment, PackageLoader, select_autoescape
from markupsafe import Markup, escape
from starlette.datastructures import State
from starlette.exceptions import HTTPException as StarletteHTTPException
from starlette.responses import RedirectResponse

from builders.kit.errors import BadRequest, InternalError, Invalid, MethodNotAllowed, NotFound, Problem
from builders.kit.http import document_parts, error_pages, html
from builders.kit.http.media_types import JSON
from builders.kit.http.path_table import not_found
from builders.kit.http.static_files import StaticFile
from builders.kit.process.version import REVISION

OPEN_ENUM = "x-extensible-enum"  # the known values of an enum to which more can be added
_OF_STATUS: dict[int, type[Problem]] = {404: NotFound, 405: MethodNotAllowed, 400: BadRequest}


def make_app(**options: Any) -> FastAPI:  # FastAPI's own options
    """Return a FastAPI application with its documentation and with problem+json for its own errors."""
    app = FastAPI(
        title="Builders Automation API",
        version=REVISION,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        exception_handlers={StarletteHTTPException: _refuse, RequestValidationError: _refuse},
        **options,
    )
    app.state = _State()

    _add_document(app)

    async def send_asset(request: Request) -> Response:
        asset = html.find_asset(request.path_params["name"])
        if asset is None:
            raise StarletteHTTPException(404)
        return Response(
            asset.content, 200, {"Cache-Control": "public, max-age=31536000, immutable"}, asset.media_type
        )

    app.add_route(f"{html.ASSETS_PATH}/{{name}}", send_asset, include_in_schema=False)

    for path in ("/docs/", "/redoc", "/redoc/"):
        app.add_route(path, _redirect, include_in_schema=False)
    return app


def _add_document(app: FastAPI) -> None:
    """Serve the OpenAPI document, its parts by tag, and the page that shows it."""

    def write_document(part: str | None = None) -> tuple[str, dict[str, str]]:
        whole = app.openapi()
        shown = whole if part is None else document_parts.take_part(whole, part)
        return json.dumps(shown, ensure_ascii=False, separators=(",", ":")), {"Content-Type": "application/json"}

    def write_page() -> tuple[str, dict[str, str]]:
        text = render(app.openapi())
        return text, {"Content-Type": html.MEDIA_TYPE, "Content-Security-Policy": html.policy(text)}

    app.state.texts = whole, page = _Written(write_document), _Written(write_page)
    parts: dict[str, _Written] = {}  # by tag

    async def send_document(request: Request) -> Response:
        tag = request.query_params.get("tag")
        if tag is None:
            return await whole.respond(request)
        known = await asyncio.to_thread(lambda: document_parts.list_tags(app.openapi()))
        if tag not in known:
            message = f"There is no such tag. The tags are {', '.join(known)}."
            return error_pages.respond(request.scope, Invalid(("query", "tag"), message, "tag_unknown"))
        return await parts.setdefault(tag, _Written(partial(write_document, tag))).respond(request)

    app.add_route("/openapi.json", send_document, include_in_schema=False)
    app.add_route("/docs", page.respond, include_in_schema=False)


async def _redirect(_: Request) -> Response:
    return RedirectResponse("/docs", 308)


class _State(State):
    """The state of the application as plain attributes; Starlette's look-ups take over 5 % of a suggestion."""

    def __init__(self) -> None:
        super().__init__(self.__dict__)


class _Written:
    """A text about the API with its headers, written and compressed once, which takes two seconds."""

    _lock = Lock()  # of all texts, which derive the same document

    def __init__(self, write: Callable[[], tuple[str, dict[str, str]]]) -> None:
        self._write_text = write
        self._file: StaticFile | None = None

    async def respond(self, request: Request) -> Response:
        """Return the text in the form that the client accepts, or 304 when it has this one."""
        file = await asyncio.to_thread(self.write) if self._file is None else self._file
        return file.respond(request)

    def write(self) -> StaticFile:
        """Write the text if it is not there; return it."""
        with self._lock:
            if self._file is None:
                text, headers = self._write_text()
                self._file = StaticFile.of(text.encode(), headers)
            return self._file


async def _refuse(request: Request, error: Exception) -> Response:
    if isinstance(error, RequestValidationError):
        return error_pages.respond(request.scope, Invalid.many(error.errors()))
    if not isinstance(error, HTTPException | StarletteHTTPException):
        raise error
    problem = _OF_STATUS.get(error.status_code, InternalError)
    headers = dict(error.headers or {})
    if problem is NotFound:
        return error_pages.respond(request.scope, not_found(request.scope, headers))
    return error_pages.respond(request.scope, problem(str(error.detail), headers=headers))


Json = Mapping[str, Any]

# The operation lists these parameters as its credentials.
_CREDENTIALS = {"Authorization", "X-API-Key", "svc_access_token"}
_LIMITS = {
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "minimum": "at least {}",
    "maximum": "at most {}",
    "minItems": "at least {} items",
    "maxItems": "at most {} items",
    "maxProperties": "at most {} members",
    "pattern": "pattern {}",
    "default": "default {}",
}
_MARKS = ((re.compile(r"`([^`]+)`"), r"<code>\1</code>"), (re.compile(r"\*\*([^*]+)\*\*"), r"<strong>\1</strong>"))
_PATH_PARAMETER = re.compile(r"\{(\w+)\}")


# Most members of the document are optional, so the template may ask for a missing one.
_jinja = Environment(
    loader=PackageLoader("builders.kit.http"), autoescape=select_autoescape(), trim_blocks=True, lstrip_blocks=True
)


def render(document: Json) -> str:
    """Return the page of the document: its operations, events, errors and schemas."""
    page = _Page(document)
    template = _jinja.get_template("reference.html")
    return template.render(document=document, page=page, prose=_prose, line=_line, show=_show)


class _Page:
    """What the template asks about the document."""

    def __init__(self, document: Json) -> None:
        self._document = document

    def list_areas(self) -> list[tuple[Json, list[tuple[str, str, Json]]]]:
        """Return each tag with the method, path and description of its operations."""
        listed: dict[str, list[tuple[str, str, Json]]] = {}
        for path, item in self._document["paths"].items():
            for method, operation in item.items():
                listed.setdefault(operation["tags"][0], []).append((method.upper(), path, operation))
        tags = {tag["name"]: tag for tag in self._document.get("tags", ())}
        names = [*(name for name in tags if name in listed), *(name for name in listed if name not in tags)]
        return [(tags.get(name, {"name": name, "description": ""}), listed[name]) for name in names]

    def list_parameters(self, operation: Json) -> list[Json]:
        """Return the parameters of an operation without its credentials."""
        listed = [self.resolve(each) for each in operation.get("parameters", ())]
        return [each for each in listed if each["name"] not in _CREDENTIALS]

    def resolve(self, part: Json) -> Json:
        """Return the part itself where a reference stands for it."""
        while "$ref" in part:
            *_, kind, name = part["$ref"].split("/")
            part = self._document["components"][kind][name]
        return part

    def kind(self, schema: Json) -> Markup:
        """Return the type of a schema with its limits; the name of a component is a link to it."""
        if "$ref" in schema:
            name = schema["$ref"].rpartition("/")[2]
            return Markup('<a href="#schema-{0}">{0}</a>').format(name)
        several = schema.get("anyOf") or schema.get("oneOf")
        text = Markup(" or ").join(map(self.kind, several)) if several else self._kind_of_one(schema)
        limits = [text_of.format(_value(schema[name])) for name, text_of in _LIMITS.items() if name in schema]
        return Markup("{} ({})").format(text, ", ".join(limits)) if limits else text

    def _kind_of_one(self, schema: Json) -> Markup:
        if "const" in schema:
            return _code(schema["const"])
        if "enum" in schema or OPEN_ENUM in schema:
            values = Markup(", ").join(map(_code, schema.get("enum") or schema[OPEN_ENUM]))
            return values if "enum" in schema else values + " or a later value"
        if "items" in schema:
            return "list of " + self.kind(schema["items"])
        if "properties" in schema:
            member = Markup("<code>{}</code>: {}")
            members = (member.format(name, self.kind(each)) for name, each in schema["properties"].items())
            return Markup("object ({})").format(Markup("; ").join(members))
        if isinstance(schema.get("additionalProperties"), dict):
            return "object of " + self.kind(schema["additionalProperties"])
        given = schema.get("type", "any value")
        kind, *null = given if isinstance(given, list) else [given]
        return escape(" or ".join([schema.get("format", kind), *null]))

    def write_command(self, method: str, path: str, operation: Json) -> str:
        """Return a curl command of the operation; variables of the shell stand for what a reader fills in."""
        url = "$SERVICE" + _PATH_PARAMETER.sub(lambda found: f"${found[1].upper()}", path)
        listed = self.list_parameters(operation)
        required = [each["name"] for each in listed if each["in"] == "query" and each["required"]]
        url += "".join(f"{'&' if at else '?'}{name}=${name.upper()}" for at, name in enumerate(required))
        parts = [f'curl "{url}"' if method == "GET" else f'curl -X {method} "{url}"']
        if operation.get("security"):
            parts.append('-H "X-API-Key: $KEY"')
        for media_type, body in [*operation.get("requestBody", {}).get("content", {}).items()][:1]:
            schema = self.resolve(body["schema"])
            if media_type == JSON:
                variants = [self.resolve(each) for each in schema.get("anyOf", ())]
                examples = [each["examples"][0] for each in (schema, *variants) if "examples" in each]
                text = _show(examples[0]) if examples else "{}"
                parts += f'-H "Content-Type: {JSON}"', f"-d {shlex.quote(text)}"
            else:
                parts += [f'--data-urlencode "{name}=${name.upper()}"' for name in schema.get("required", ())]
        return " \\\n  ".join(parts)


def _show(value: object) -> str:
    """Return the value as indented JSON."""
    return json.dumps(value, ensure_ascii=False, indent=2)


def _value(value: object) -> str:
    if isinstance(value, float):  # a bound of an integer is one too
        return f"{value:g}"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _code(value: object) -> Markup:
    return Markup("<code>{}</code>").format(_value(value))


def _line(text: str) -> Markup:
    """Return a line of a description as HTML."""
    html = str(escape(text))
    for mark, tag in _MARKS:
        html = mark.sub(tag, html)
    return Markup(html)  # noqa: S704 - escaped above


def _prose(text: str) -> Markup:
    """Return the paragraphs and lists of a description as HTML; it is Markdown without links and headings."""
    blocks = []
    for block in re.split(r"\n\n+", text.strip()):
        if block.startswith("- "):
            items = (Markup("<li>{}</li>").format(_line(item)) for item in re.split(r"\n- ", block[2:]))
            blocks.append(Markup("<ul>{}</ul>").format(Markup().join(items)))
        else:
            blocks.append(Markup("<p>{}</p>").format(_line(block)))
    return Markup().join(blocks)
