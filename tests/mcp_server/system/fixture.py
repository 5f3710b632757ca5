"""The server that the official conformance suite asks for: its own tools, from the factory of the service.

The suite names the tools, prompts and resources, and says what each returns.
"""

import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any, Self

from mcp import types
from mcp.server import ServerRequestContext
from mcp.shared.exceptions import MCPError
from starlette.types import Receive, Scope, Send

from builders.kit.process.secret_keys import Keyring, generate_secret
from builders.mcp_server.endpoint import IN_CALL
from builders.mcp_server.transport import Transport

Context = ServerRequestContext[Any, Any]
PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
SOUND = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="
TEXT, BINARY, TEMPLATE = "test://static-text", "test://static-binary", "test://template/{id}/data"
WITH_PROGRESS = "test_tool_with_progress"
NO_ARGUMENTS = {"type": "object", "properties": {}, "additionalProperties": False}


def text(words: str) -> types.TextContent:
    return types.TextContent(type="text", text=words)


def picture() -> types.ImageContent:
    return types.ImageContent(type="image", data=PICTURE, mime_type="image/png")


def embedded(uri: str, words: str, media_type: str = "text/plain") -> types.EmbeddedResource:
    resource = types.TextResourceContents(uri=uri, mime_type=media_type, text=words)
    return types.EmbeddedResource(type="resource", resource=resource)


CONTENT: Mapping[str, Callable[[], list[types.ContentBlock]]] = {
    "test_simple_text": lambda: [text("This is a simple text response for testing.")],
    "test_image_content": lambda: [picture()],
    "test_audio_content": lambda: [types.AudioContent(type="audio", data=SOUND, mime_type="audio/wav")],
    "test_embedded_resource": lambda: [
        embedded("test://embedded-resource", "This is an embedded resource content.")
    ],
    "test_multiple_content_types": lambda: [
        text("Multiple content types test:"),
        picture(),
        embedded("test://mixed-content-resource", '{"test":"data","value":123}', "application/json"),
    ],
    WITH_PROGRESS: lambda: [text("done")],
    "test_streaming_elicitation": lambda: [text("nothing is asked on the stream")],
    "test_logging_tool": lambda: [text("nothing is logged to the client")],
}


def form(message: str, name: str, kind: str = "string") -> types.ElicitRequest:
    schema = {"type": "object", "properties": {name: {"type": kind}}, "required": [name]}
    return types.ElicitRequest(params=types.ElicitRequestFormParams(message=message, requested_schema=schema))


def sample(words: str) -> types.CreateMessageRequest:
    asked = types.SamplingMessage(role="user", content=text(words))
    return types.CreateMessageRequest(params=types.CreateMessageRequestParams(messages=[asked], max_tokens=100))


NAME = form("What is your name?", "name")
ROOTS = types.ListRootsRequest()
# Of each tool that asks: its questions of each round; the state goes round if there is a second member.
ROUNDS: Mapping[str, tuple[list[dict[str, Any]], bool]] = {
    "test_input_required_result_elicitation": ([{"user_name": NAME}], False),
    "test_input_required_result_sampling": (
        [{"capital_question": sample("What is the capital of France?")}],
        False,
    ),
    "test_input_required_result_list_roots": ([{"client_roots": ROOTS}], False),
    "test_input_required_result_request_state": ([{"confirm": form("Please confirm", "ok", "boolean")}], True),
    "test_input_required_result_tampered_state": ([{"confirm": form("Please confirm", "ok", "boolean")}], True),
    "test_input_required_result_multiple_inputs": (
        [{"user_name": NAME, "greeting": sample("Generate a greeting"), "client_roots": ROOTS}],
        True,
    ),
    "test_input_required_result_multi_round": (
        [
            {"step1": form("Step 1: What is your name?", "name")},
            {"step2": form("Step 2: What is your favorite color?", "color")},
        ],
        True,
    ),
    "test_input_required_result_capabilities": ([{"user_name": NAME, "greeting": sample("Greet")}], False),
    "test_input_required_result_prompt": (
        [{"user_context": form("What context should the prompt use?", "context")}],
        False,
    ),
}
_CAPABILITIES = {"elicitation/create": "elicitation", "sampling/createMessage": "sampling", "roots/list": "roots"}


def ask(context: Context, name: str, params: Any) -> types.InputRequiredResult | None:
    """Return the questions of the next round; None when all are answered."""
    rounds, has_state = ROUNDS[name]
    at = int(params.request_state) if has_state and params.request_state else 0
    answers = params.input_responses or {}
    if not has_state or params.request_state:
        at += rounds[at].keys() <= answers.keys()
    if at == len(rounds):
        return None
    declared: Any = dict(context.meta or {}).get("io.modelcontextprotocol/clientCapabilities", {})
    asked = rounds[at]
    if name.endswith("_capabilities"):
        asked = {key: each for key, each in asked.items() if _CAPABILITIES[each.method] in declared}
    return types.InputRequiredResult(input_requests=asked, request_state=str(at) if has_state else None)


async def list_tools(_: Context, __: Any) -> types.ListToolsResult:
    names = [
        *CONTENT,
        "test_error_handling",
        "test_missing_capability",
        *(each for each in ROUNDS if not each.endswith("_prompt")),
    ]
    tools = [types.Tool(name=each, description=each, input_schema=NO_ARGUMENTS) for each in names]
    return types.ListToolsResult(tools=tools, ttl_ms=1000, cache_scope="private")


async def call_tool(
    context: Context, params: types.CallToolRequestParams
) -> types.CallToolResult | types.InputRequiredResult:
    if params.name in ROUNDS:
        asked = ask(context, params.name, params)
        answers = json.dumps(
            {k: each.model_dump(mode="json") for k, each in (params.input_responses or {}).items()}
        )
        return asked or types.CallToolResult(content=[text(f"state-ok {answers}")])
    if params.name == "test_error_handling":
        words = "This tool intentionally returns an error for testing"
        return types.CallToolResult(content=[text(words)], is_error=True)
    if params.name == "test_missing_capability":
        needed: dict[str, Any] = {"requiredCapabilities": {"sampling": {}}}
        raise MCPError(code=types.MISSING_REQUIRED_CLIENT_CAPABILITY, message="Needs sampling", data=needed)
    if params.name == WITH_PROGRESS:
        for done in (0, 50, 100):
            await context.session.report_progress(done, 100)
    if params.name not in CONTENT:
        raise MCPError(code=types.INVALID_PARAMS, message="There is no such tool.")
    return types.CallToolResult(content=CONTENT[params.name]())


async def list_resources(_: Context, __: Any) -> types.ListResourcesResult:
    listed = [types.Resource(uri=each, name=each, description=each) for each in (TEXT, BINARY)]
    return types.ListResourcesResult(resources=listed, ttl_ms=1000, cache_scope="private")


async def list_templates(_: Context, __: Any) -> types.ListResourceTemplatesResult:
    listed = [types.ResourceTemplate(uri_template=TEMPLATE, name="template", description="A template")]
    return types.ListResourceTemplatesResult(resource_templates=listed, ttl_ms=1000, cache_scope="private")


async def read_resource(_: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
    uri, before, after = params.uri, *TEMPLATE.split("{id}")
    found: types.TextResourceContents | types.BlobResourceContents
    if uri == TEXT:
        words = "This is the content of the static text resource."
        found = types.TextResourceContents(uri=uri, mime_type="text/plain", text=words)
    elif uri == BINARY:
        found = types.BlobResourceContents(uri=uri, mime_type="image/png", blob=PICTURE)
    elif uri.startswith(before) and uri.endswith(after):
        key = uri.removeprefix(before).removesuffix(after)
        data = json.dumps({"id": key, "templateTest": True, "data": f"Data for ID: {key}"})
        found = types.TextResourceContents(uri=uri, mime_type="application/json", text=data)
    else:
        raise MCPError(code=types.INVALID_PARAMS, message="Resource not found", data={"uri": uri})
    return types.ReadResourceResult(contents=[found], ttl_ms=1000, cache_scope="private")


ARGUMENTS: Mapping[str, tuple[str, ...]] = {
    "test_simple_prompt": (),
    "test_prompt_with_arguments": ("arg1", "arg2"),
    "test_prompt_with_embedded_resource": ("resourceUri",),
    "test_prompt_with_image": (),
    "test_input_required_result_prompt": (),
}


async def list_prompts(_: Context, __: Any) -> types.ListPromptsResult:
    prompts = [
        types.Prompt(
            name=name,
            description=name,
            arguments=[types.PromptArgument(name=each, description=each, required=True) for each in arguments],
        )
        for name, arguments in ARGUMENTS.items()
    ]
    return types.ListPromptsResult(prompts=prompts, ttl_ms=1000, cache_scope="private")


async def get_prompt(
    context: Context, params: types.GetPromptRequestParams
) -> types.GetPromptResult | types.InputRequiredResult:
    if params.name in ROUNDS and (asked := ask(context, params.name, params)) is not None:
        return asked
    given = params.arguments or {}
    said: types.ContentBlock = text("This is a simple prompt for testing.")
    if params.name == "test_prompt_with_arguments":
        said = text(f"Prompt with arguments: arg1='{given['arg1']}', arg2='{given['arg2']}'")
    elif params.name == "test_prompt_with_embedded_resource":
        said = embedded(given["resourceUri"], "Embedded resource content for testing.")
    elif params.name == "test_prompt_with_image":
        said = picture()
    messages = [types.PromptMessage(role="user", content=each) for each in (said, text("Please process it."))]
    return types.GetPromptResult(messages=messages)


async def complete(_: Context, __: types.CompleteRequestParams) -> types.CompleteResult:
    return types.CompleteResult(completion=types.Completion(values=["paris"], total=1, has_more=False))


class Fixture:
    """The server with one caller and no credentials. Answers are JSON, and progress is a stream."""

    def __init__(self, url: str) -> None:
        self.keyring = Keyring([generate_secret()])
        self.transport, self.streams = (
            _transport(url, keyring=self.keyring, has_streams=each) for each in (False, True)
        )

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Self]:
        """Run what the SDK runs beside requests."""
        async with self.transport, self.streams:
            yield self

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Respond as the caller."""
        exchange = SimpleNamespace(caller=SimpleNamespace(account_id="account", key_id="key"))
        named = dict(scope["headers"]).get(b"mcp-name", b"").decode()
        transport = self.streams if named == WITH_PROGRESS else self.transport
        await transport.app({**scope, IN_CALL: exchange}, receive, send)


def _transport(url: str, *, keyring: Keyring, has_streams: bool) -> Transport:
    return Transport(
        "conformance",
        url=url,
        keyring=keyring,
        body_limit=1024 * 1024,
        has_streams=has_streams,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
        on_list_prompts=list_prompts,
        on_get_prompt=get_prompt,
        on_completion=complete,
    )
