"""Rules against late imports, swallowed errors, second mechanisms and sources, and patched constants."""

import ast
import re
from collections.abc import Collection, Iterator, Mapping

from tests.architecture.interfaces import imported
from tests.architecture.source import Source, functions

_DECLARING = {"queue.app.task", "queue.app.periodic", "dispatcher.subscribe", "dispatcher.subscribe_batches"}
# `model_fields_set` and `exclude_unset` distinguish an absent member from null.
_ABSENT = {"model_fields_set", "exclude_unset"}
CONSTANT = re.compile(r"_?[A-Z][A-Z0-9_]*")
CLOCKS = {"monotonic", "perf_counter", "process_time", "thread_time"}
IMPORTERS = {"import_module", "__import__"}
BROAD = {"Exception", "BaseException"}
# Functions that may import a module, with the reason.
MAY_IMPORT: Mapping[str, str] = {
    "builders/invoices/api.py:_render_pdf": "each start would load the packages that write a PDF",
    "builders/cli/setting_files.py:_read_font": "as above, and few set a font",
    "builders/cli/traces.py:exported": "few configure a collector, and its packages take a second",
}
# Functions that may catch every error, with the reason.
MAY_CATCH_ALL: Mapping[str, str] = {
    "builders/cli/main.py:get_command": "the parent gets the reason in one sentence",
    "builders/kit/http/middleware.py:__call__": "the outermost code: the client gets a 500, the log the trace",
    "builders/kit/sheets/workbook_program.py:_refusing_damaged": "the class of a panic in Rust has no module",
    "builders/kit/db/group_commit.py:_write_some": "a bad row must not fail the rows of others",
    "builders/mcp_server/server.py:call_tool": "the SDK would answer without a line in the log",
    "builders/plans/promotion/run.py:_advance": "a batch that always fails would block its account forever",
    "builders/plans/promotion/run.py:_complete_at_once": "a failed completion must not undo the batch before it",
    "builders/plans/jobs.py:finish": "a completion that always fails is abandoned",
    "builders/plans/promotion/completion.py:abandon": "a failed part must not keep the promotion open",
    "builders/kit/events/dispatcher.py:_call": "jobs repeat a failed batch one event at a time",
    "builders/webhooks/sender.py:_send": "a delivery that cannot be sent must not stop the loop",
    "builders/kit/process/redaction.py:readable": "any object can be logged, and logging never raises",
    "builders/kit/process/log.py:emit": "logging never raises",
    "builders/portfolio/domains/registries.py:_ask_server": "an error of one domain must not stop the others",
    "builders/kit/jobs/queue.py:_drop_superseded": "a job that failed in any way is done by the waiting one",
    "builders/forwarding/answer_sender.py:_attempt": "an unrecorded failure would be retried forever",
    "builders/mail/service.py:_send": "an unrecorded failure would be retried forever",
}
# Structure is in columns: what separates the parts of a text, and the texts that only the user gives a meaning.
SEPARATORS = {"/", ":"}
REFERENCES = {"reference", "order_ref"}
PARTING = {"split", "rsplit", "partition", "rpartition"}
MATCHING = PARTING | {"startswith", "endswith", "removeprefix", "removesuffix", "match", "fullmatch", "search"}
# Functions that may part a text that is not stored, with the reason.
MAY_PART: Mapping[str, str] = {
    "builders/portfolio/domains/names.py:_suggest_of": "reads the host of a URL that a member wrote",
}
OUTBOUND, CLOCK, IDS = (
    {"builders/kit/outbound/connections.py"},
    {"builders/kit/values/clock.py"},
    {"builders/kit/values/ids.py"},
)
# The only modules that may call or import these names.
SOLE_CALLS = {
    **dict.fromkeys(("datetime.now", "datetime.utcnow", "datetime.today", "date.today", "time.time"), CLOCK),
    **dict.fromkeys(("uuid.uuid1", "uuid.uuid4", "uuid.uuid7"), IDS),
}
SOLE_IMPORTS = {
    **dict.fromkeys(("aiohttp", "httpx", "requests", "urllib.request"), OUTBOUND),
    "requests": OUTBOUND | {"builders/kit/process/trace_export.py"},  # the answers of a collector
    "http.client": OUTBOUND | {"builders/cli/serve.py"},  # the health check of our own process
    **dict.fromkeys(("uuid.uuid1", "uuid.uuid4", "uuid.uuid7"), IDS),
}


# The only modules that may use the parser of mail of the standard library, with the reason. Its time grows with
# the square of a head, so a request could stop a loop: kit/http and console have parsers of their own.
MAY_PARSE_MAIL: Mapping[str, str] = {
    "builders/cli/mail.py": "a command, which reads messages of the service in a process of its own",
    "builders/forwarding/answer_texts.py": "writes messages of bounded size, in a thread",
    "builders/forwarding/contents.py": "the mail filter reads in threads, what it has bounded",
    "builders/forwarding/messages.py": "the mail filter reads in threads, what it has bounded",
    "builders/kit/process/settings.py": "an address of the operator, read at the start",
    "builders/mail/renderer.py": "writes messages of the service, in a thread",
    "builders/mail/sender.py": "an address of the operator, read at the start",
    "builders/portfolio/registrars/api_client.py": "the date of one header, of at most 8 kB",
    "builders/webhooks/deliveries.py": "the date of one header, of at most 8 kB",
}
SERVES_REQUESTS = ("builders/kit/http/", "builders/console/")  # never in MAY_PARSE_MAIL

# A comment that excepts a line from a check, and the reason after it.
_EXCEPTION = re.compile(r"#\s*(?:noqa|type: ignore|pyright: ignore)\b(?P<rest>.*)$")
_REASON = re.compile(r"(?::\s[A-Z0-9, ]+|\[[\w, -]+\]) *[-#]\s*\S+")


def unexplained_exception(file: Source) -> Iterator[str]:
    """Yield exceptions from a linter or a type checker that name no rule, or no reason beside it."""
    for number, line in enumerate(file.text.splitlines(), 1):
        found = _EXCEPTION.search(line)
        if found is not None and not _REASON.match(found["rest"]):
            yield f"{file.path}:{number}: name the rule and the reason of the exception"


def unfenced_transaction(file: Source) -> Iterator[str]:
    """Yield transactions on a borrowed connection, which a request commits without its Idempotency-Key's fence."""
    if str(file.path).startswith("builders/kit/"):
        return
    for function in functions(file):
        blocks = [node for node in ast.walk(function) if isinstance(node, ast.AsyncWith | ast.With)]
        items = [item for block in blocks for item in block.items]
        opened = [(ast.unparse(item.context_expr), item.optional_vars) for item in items]
        borrowed = {ast.unparse(name) for text, name in opened if name and text.endswith(".connection()")}
        for item in items:
            if ast.unparse(item.context_expr).partition(".transaction(")[0] in borrowed:
                yield f"{file.at(item.context_expr)}: use Database.transaction, which checks the Idempotency-Key"


def late_import(file: Source) -> Iterator[str]:
    """Yield imports inside functions, which escape the check for cycles."""
    indented = [node for node in file.nodes if isinstance(node, ast.Import | ast.ImportFrom) and node.col_offset]
    for function in functions(file) if indented else ():
        for node in () if f"{file.path}:{function.name}" in MAY_IMPORT else ast.walk(function):
            if node in indented:
                yield f"{file.at(node)}: imported inside {function.name}"


def import_by_name(file: Source) -> Iterator[str]:
    """Yield imports by name at run time, which no checker sees.

    The command line may have them: each command imports its own modules, and tests/cli/test_main.py imports all.
    So may the function that finds the modules of a package, all of which the service imports as it starts.
    """
    if str(file.path) in {"builders/cli/main.py", "builders/kit/process/discovery.py"}:
        return
    for node in file.nodes:
        if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] in IMPORTERS:
            yield f"{file.at(node)}: imported by name at run time"


def typing_import(file: Source) -> Iterator[str]:
    """Yield imports for type checkers only, which hide cycles."""
    for node in file.nodes:
        match node:
            case ast.Name(id="TYPE_CHECKING") | ast.Attribute(attr="TYPE_CHECKING"):
                yield f"{file.at(node)}: TYPE_CHECKING"


def caught(node: ast.AST) -> set[str]:
    """Return the names of the errors that a handler or `suppress` swallows; none if it raises again."""
    match node:
        case ast.ExceptHandler(body=[*_, ast.Raise(exc=None)]):
            return set()
        case ast.ExceptHandler(type=None):
            return {"BaseException"}
        case ast.ExceptHandler(type=ast.Tuple(elts=kinds)):
            return {ast.unparse(kind) for kind in kinds}
        case ast.ExceptHandler(type=ast.expr() as kind):
            return {ast.unparse(kind)}
        case ast.Call(func=ast.Name(id="suppress") | ast.Attribute(attr="suppress"), args=kinds):
            return {ast.unparse(kind) for kind in kinds}
        case _:
            return set()


def catch_all(file: Source, allowed: Mapping[str, str] = MAY_CATCH_ALL) -> Iterator[str]:
    """Yield handlers that swallow every error, except in the allowed functions."""
    broad = [
        node for node in file.nodes if isinstance(node, ast.ExceptHandler | ast.Call) and caught(node) & BROAD
    ]
    inside = {node: function.name for function in functions(file) for node in ast.walk(function)} if broad else {}
    for node in broad:
        place = f"{file.path}:{inside.get(node, '')}"
        if place not in allowed:
            yield f"{file.at(node)}: catches {' '.join(sorted(caught(node) & BROAD))} ({place})"


def second_source(file: Source) -> Iterator[str]:
    """Yield a second source of time, identifiers or HTTP; tests and guards control the only one."""
    for node in file.nodes:
        if isinstance(node, ast.Call):
            call = ".".join(ast.unparse(node.func).split(".")[-2:])
            yield from _elsewhere(file, node, call, SOLE_CALLS)
    for statement, parts in imported(file):
        for depth in range(1, len(parts) + 1):
            yield from _elsewhere(file, statement, ".".join(parts[:depth]), SOLE_IMPORTS)


def _elsewhere(
    file: Source, node: ast.stmt | ast.expr, name: str, sole: Mapping[str, Collection[str]]
) -> Iterator[str]:
    if name in sole and str(file.path) not in sole[name]:
        yield f"{file.at(node)}: {name} belongs to {', '.join(sorted(sole[name]))}"


def mail_parser(file: Source, allowed: Mapping[str, str] = MAY_PARSE_MAIL) -> Iterator[str]:
    """Yield imports of the standard library's parser of mail."""
    for node, name in imported(file):
        if name[0] == "email" and str(file.path) not in allowed:
            yield f"{file.at(node)}: {'.'.join(name)} takes long for hostile text"


def http_in_records(file: Source) -> Iterator[str]:
    """Yield imports of FastAPI and of the kit's HTTP in records, which jobs and commands have, too."""
    if file.path.name != "records.py":
        return
    for node, name in imported(file):
        if name[0] == "fastapi" or name[:3] == ("builders", "kit", "http"):
            yield f"{file.at(node)}: {'.'.join(name)} in records"


def enum_literal(file: Source) -> Iterator[str]:
    """Yield enum members in a Literal: pydantic shows them to the client as `<Status.OPEN: 'open'>`."""
    for node in file.nodes:
        if isinstance(node, ast.Subscript) and ast.unparse(node.value) == "Literal":
            members = [each for each in ast.walk(node.slice) if isinstance(each, ast.Attribute)]
            yield from (f"{file.at(node)}: {ast.unparse(each)} in a Literal" for each in members)


def parted_text(file: Source, allowed: Mapping[str, str] = MAY_PART) -> Iterator[str]:
    """Yield structure of the portfolio that is read from a text: it belongs into columns."""
    if file.path.parts[:2] != ("builders", "portfolio"):
        return
    inside = {node: function.name for function in functions(file) for node in ast.walk(function)}
    for node in file.nodes:
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        is_parted = node.func.attr in PARTING and any(
            isinstance(each, ast.Constant) and each.value in SEPARATORS for each in node.args
        )
        names = {getattr(each, "attr", None) or getattr(each, "id", None) for each in ast.walk(node)}
        is_matched = node.func.attr in MATCHING and names & REFERENCES
        if (is_parted or is_matched) and f"{file.path}:{inside.get(node, '')}" not in allowed:
            yield f"{file.at(node)}: {ast.unparse(node)}: store its parts in columns"


def merge_patch(file: Source) -> Iterator[str]:
    """Yield a second mechanism for merge patches: only `PatchBody` distinguishes an absent member from null."""
    if file.path.parts[:2] in {("builders", "kit"), ("builders", "cli")}:  # settings of the command line
        return
    for node in file.nodes:
        match node:
            case ast.Attribute(attr=name) if name in _ABSENT:
                yield f"{file.at(node)}: {name}: use PatchBody.patch_of"
            case ast.keyword(arg=str(name)) if name in _ABSENT:
                yield f"{file.path}:{node.lineno}: {name}: use PatchBody.patch_of"


def stray_job(file: Source) -> Iterator[str]:
    """Yield tasks and subscribers outside of `jobs.py`, which only the worker imports."""
    if file.path.parts[:2] == ("builders", "kit") or file.path.name == "jobs.py":
        return
    for node in file.nodes:
        if isinstance(node, ast.Call) and (called := ast.unparse(node.func)) in _DECLARING:
            yield f"{file.at(node)}: {called} belongs in jobs.py"


def patched_constant(file: Source) -> Iterator[str]:
    """Yield patched constants: a limit that a test changes is a setting or a parameter."""
    for node in file.nodes:
        match node:
            case ast.Call(func=ast.Attribute(attr="setattr"), args=[_, ast.Constant(value=str(name)), _]):
                pass
            case ast.Call(func=ast.Attribute(attr="setattr"), args=[ast.Constant(value=str(path)), _]):
                name = path.rpartition(".")[2]
            case ast.Assign(targets=[ast.Attribute(attr=name)]):
                pass
            case _:
                continue
        if CONSTANT.fullmatch(name):
            yield f"{file.at(node)}: patches {name}"


def timed_assertion(file: Source) -> Iterator[str]:
    """Yield assertions about durations, which depend on the machine; bench/ measures them."""
    for node in file.nodes:
        if not isinstance(node, ast.Assert):
            continue
        for part in ast.walk(node.test):
            match part:
                case ast.BinOp(op=ast.Sub(), left=ast.Call(func=ast.Attribute(attr=clock))) if clock in CLOCKS:
                    yield f"{file.at(node)}: asserts a duration"
