"""The page that shows the OpenAPI document: one HTML text without a script, which is written once."""

import json
import re
import shlex
from collections.abc import Mapping
from typing import Any

from jinja2 import Environment, PackageLoader, select_autoescape
from markupsafe import Markup, escape

from builders.kit.http.openapi_components import OPEN_ENUM

Json = Mapping[str, Any]

JSON = "application/json"
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
            members = (Markup("<code>{}</code>: {}").format(*each) for each in self._members(schema))
            return Markup("object ({})").format(Markup("; ").join(members))
        if isinstance(schema.get("additionalProperties"), dict):
            return "object of " + self.kind(schema["additionalProperties"])
        return escape(schema.get("format") or schema.get("type") or "any value")

    def _members(self, schema: Json) -> list[tuple[str, Markup]]:
        return [(name, self.kind(member)) for name, member in schema["properties"].items()]

    def write_command(self, method: str, path: str, operation: Json) -> str:
        """Return a curl command of the operation; variables of the shell stand for what a reader fills in."""
        url = "$SERVICE" + _PATH_PARAMETER.sub(lambda found: f"${found[1].upper()}", path)
        required = [each["name"] for each in self.list_parameters(operation) if _is_required_in_query(each)]
        url += "".join(f"{'&' if at else '?'}{name}=${name.upper()}" for at, name in enumerate(required))
        parts = [f'curl "{url}"' if method == "GET" else f'curl -X {method} "{url}"']
        if operation.get("security"):
            parts.append('-H "X-API-Key: $KEY"')
        if "requestBody" in operation:
            parts += self._write_body(operation["requestBody"]["content"])
        return " \\\n  ".join(parts)

    def _write_body(self, content: Json) -> list[str]:
        media_type, body = next(iter(content.items()))
        schema = self.resolve(body["schema"])
        if media_type != JSON:
            return [f'--data-urlencode "{name}=${name.upper()}"' for name in schema.get("required", ())]
        variants = [self.resolve(each) for each in schema.get("anyOf", ())]
        examples = [each["examples"][0] for each in (schema, *variants) if "examples" in each]
        text = _show(examples[0]) if examples else "{}"
        return [f'-H "Content-Type: {JSON}"', f"-d {shlex.quote(text)}"]


def _is_required_in_query(parameter: Json) -> bool:
    return parameter["in"] == "query" and bool(parameter["required"])


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
