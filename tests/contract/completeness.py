"""What a reader who has only the document needs: descriptions, security, tags, codes, webhooks, usable types."""

import re
from collections.abc import Collection, Iterator, Mapping

from tests.contract.checks import CREDENTIALS, PROBLEM
from tests.contract.document import Json, operations, parameters, resolve, successes, whole

UUID_NAME = re.compile(r"(?:.*_)?ids?")
FORMS = {"ApiKey", "Bearer", "Cookie"}
SHORTEST = 8  # characters of a description that says something


def described(document: Json) -> Iterator[str]:
    """Every operation, parameter, response, schema and property has a description that is not its name."""
    for name, operation in (*operations(document).items(), *webhooks(document).items()):
        said = {f"{name}: has no description beyond its summary": (operation, operation.get("summary", ""))}
        for (place, parameter), shown in parameters(operation).items():
            said[f"{name}: the {place} parameter {parameter} has no description"] = (shown, parameter)
        for status, response in operation["responses"].items():
            said[f"{name}: {status} has no description"] = (response, "")
        yield from _unsaid(said)
    for name, schema in document["components"]["schemas"].items():
        said = {f"{name}: has no description": (schema, name)}
        for member, shown in schema.get("properties", {}).items():
            said[f"{name}.{member}: has no description"] = (resolve(document, shown) | shown, member)
        yield from _unsaid(said)


def _unsaid(said: Mapping[str, tuple[Json, str]]) -> Iterator[str]:
    for breach, (shown, name) in said.items():
        if not _says(shown.get("description"), name):
            yield breach


def _says(description: str | None, name: str) -> bool:
    if description is None or len(description) < SHORTEST:
        return False
    return _words(description) != _words(name)


def _words(text: str) -> list[str]:
    return [word for word in re.findall(r"[a-z]+", text.lower()) if word not in {"the", "a", "an", "of", "its"}]


def secured(document: Json) -> Iterator[str]:
    """`security` names the three forms where credentials are taken: by optional parameters, or by a scope."""
    declared = document["components"].get("securitySchemes", {})
    if declared.keys() != FORMS:
        yield f"securitySchemes: {sorted(declared)}, not {sorted(FORMS)}"
    for name, operation in operations(document).items():
        security = operation.get("security")
        if security is None:
            yield f"{name}: has no security"
            continue
        named = {form for each in security for form in each}
        accepted = bool(CREDENTIALS & parameters(operation).keys()) or "x-scope" in operation
        if not named <= FORMS or bool(named) != accepted:
            yield f"{name}: security names {sorted(named)}"
        if accepted and ({} in security) == ("x-scope" in operation):
            yield f"{name}: credentials are optional if, and only if, no scope is needed"


def headed(document: Json) -> Iterator[str]:
    """The head names servers, contact, license and every tag, each tag with a description."""
    if not document.get("servers"):
        yield "servers: none"
    for member in ("contact", "license"):
        if not document["info"].get(member):
            yield f"info: has no {member}"
    if document["info"].get("license", {}).get("identifier") != "Apache-2.0":
        yield "info: the license is not Apache-2.0"
    declared = {each["name"]: each.get("description") for each in document.get("tags", [])}
    used = {tag for operation in operations(document).values() for tag in operation.get("tags", [])}
    yield from (f"tag {tag}: not declared" for tag in sorted(used - declared.keys()))
    yield from (f"tag {tag}: not used" for tag in sorted(declared.keys() - used))
    yield from (f"tag {tag}: has no description" for tag, said in declared.items() if not _says(said, tag))
    for name, operation in operations(document).items():
        if len(operation.get("tags", [])) != 1:
            yield f"{name}: has not one tag"


def identified(document: Json, others: Collection[str] = ()) -> Iterator[str]:
    """Every `id`, `*_id` and `*_ids` in a body is a uuid, but for `others` such as `Problem.request_id`."""
    for name, schema in document["components"]["schemas"].items():
        for member, shown in schema.get("properties", {}).items():
            if UUID_NAME.fullmatch(member) and f"{name}.{member}" not in others:
                choices = shown.get("anyOf", [shown])
                known = [resolve(document, each) for each in choices if each.get("type") != "null"]
                formats = {each.get("items", each).get("format") for each in known}
                if formats != {"uuid"}:
                    yield f"{name}.{member}: is not a uuid"


def coded(document: Json) -> Iterator[str]:
    """Each error lists its known codes as examples, an open set: never as an enum."""
    examples = document["components"].get("examples", {})
    for name, operation in operations(document).items():
        for status, response in operation["responses"].items():
            content = response.get("content", {}).get(PROBLEM)
            if content is None:
                continue
            listed = content.get("examples", {})
            said = set(re.findall(r"`(\w+)`:", response["description"]))
            if not said or listed.keys() != said:
                yield f"{name}: {status} lists the codes {sorted(listed)}, not {sorted(said)}"
            for code in listed.keys() & examples.keys():
                value = examples[code]["value"]
                if (value["code"], str(value["status"])) != (code, status):
                    yield f"{name}: the example of {code} is of another code or status"
                if not _says(value.get("next_action"), code):
                    yield f"{name}: the example of {code} does not say what to do"
            yield from (f"{name}: {code} has no example" for code in sorted(listed.keys() - examples.keys()))
    if "enum" in document["components"]["schemas"]["Problem"]["properties"]["code"]:
        yield "Problem.code: is a closed set"


def webhooks(document: Json) -> dict[str, Json]:
    """The operations of the `webhooks` section by the event's name."""
    return {name: whole(document, item["post"]) for name, item in document.get("webhooks", {}).items()}


def announced(document: Json, events: Collection[str]) -> Iterator[str]:
    """The section has exactly the public events; each has a typed body of its own with an example."""
    shown = webhooks(document)
    yield from (f"{name}: not in webhooks" for name in sorted(set(events) - shown.keys()))
    yield from (f"{name}: no event" for name in sorted(shown.keys() - set(events)))
    for name, operation in shown.items():
        reference = operation["requestBody"]["content"]["application/json"]["schema"]["$ref"]
        schema = document["components"]["schemas"][reference.rpartition("/")[2]]
        if schema["properties"]["type"].get("const") != name or "$ref" not in schema["properties"]["data"]:
            yield f"{name}: its body is not typed"
        if not schema.get("examples"):
            yield f"{name}: has no example"


# `format=csv` of the same path returns a file.
OF_TWO_TYPES = {("GET /v1/portfolio/registrars/billing/templates", "200")}


def usable(document: Json) -> Iterator[str]:
    """One media type per response and body; no schema with properties hides behind alternatives."""
    for name, operation in operations(document).items():
        for status, response in operation["responses"].items():
            if len(response.get("content", {})) > 1 and (name, status) not in OF_TWO_TYPES:
                yield f"{name}: {status} has the media types {sorted(response['content'])}"
        if len(operation.get("requestBody", {}).get("content", {"": None})) != 1:
            yield f"{name}: the body has several media types"
        if not successes(operation):
            yield f"{name}: has no success"
    for name, schema in document["components"]["schemas"].items():
        if "properties" in schema and schema.keys() & {"anyOf", "oneOf"}:
            yield f"{name}: has properties and alternatives"
