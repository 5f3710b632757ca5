"""Rules against work without bounds: threads that outlive their request, and caches that grow with user text."""

import ast
from collections.abc import Iterator, Mapping

from tests.architecture.source import Function, Source, functions

_THREADS = {"to_thread", "run_in_executor", "ThreadPoolExecutor", "ProcessPoolExecutor", "Thread"}
# Files that may start threads, with the reason. Work of a request runs in slices on the second event loop.
MAY_START_THREADS: Mapping[str, str] = {
    "builders/kit/process/trace_export.py": "ends the sending of spans in limited time, as the process ends",
    "builders/kit/process/activity.py": "answers the operator also while the event loop does not turn",
    "builders/forwarding/mail_filter.py": "large messages, in a process without requests",
    "builders/erasure/execution.py": "waits for the disk once, in a job",
    "builders/forwarding/answer_sender.py": "composes messages, in a process without requests",
    "builders/cli/serve.py": "waits for the processes of the service",
    "builders/cli/session.py": "a command of the operator",
    "builders/backup/archive.py": "seals segments, in a process without requests",
    "builders/cli/archiver.py": "lists and deletes files, in a process without requests",
    "builders/cli/embedded/backups.py": "as above, and seals backups",
    "builders/cli/embedded/lease.py": "renews it, in a command without requests",
    "builders/cli/embedded/server.py": "renews the lease of the database folder, in a process without requests",
    "builders/demo/registrars/fake.py": "the server of a stand-in",
    "builders/kit/process/supervision.py": "waits for the end of the parent process",
    "builders/kit/sheets/workbooks.py": "waits for a process that reads a workbook, and that a cancellation kills",
    "builders/mcp_server/endpoint.py": "imports the SDK once",
    "builders/exports/jobs.py": "imports the handlers once",
    "builders/exports/tables.py": "the job of an export, which unseals a page of limited size",
    "builders/kit/http/heavy_requests.py": "the thread of the second event loop",
    "builders/kit/http/application.py": "writes the OpenAPI document once",
    "builders/kit/http/guide.py": "reads and compresses a file of the documentation once",
    "builders/kit/http/bodies.py": "compresses a response, whose size is limited",
    "builders/forwarding/mail_log.py": "reads a chunk of a log, of limited size",
    "builders/catalog/api.py": "reads an image of limited size from a file",
    "builders/catalog/catalog_file/loader.py": "a file of the operator",
    "builders/catalog/snapshot.py": "the catalog of the operator, by a background task",
    "builders/mail/service.py": "a job that renders and signs a message of the service",
    "builders/mail/transports.py": "writes a message to a file, for development",
    "builders/portfolio/imports/domain_imports.py": "the job that imports a large source",
    "builders/portfolio/ledger/rates.py": "the job that loads exchange rates",
    "builders/portfolio/registrars/api_client.py": "jobs that read responses of registrars",
    "builders/portfolio/registrars/inventory_sync.py": "jobs that read responses of registrars",
    "builders/cli/remote_checks.py": "a start and `doctor` must not wait for a silent name server",
}
# Functions with parameters whose results may be kept without a limit, with the reason.
MAY_CACHE_ALL: Mapping[str, str] = {
    "builders/kit/http/bodies.py:_record_members": "models of the code, and names that the code gives",
    "builders/portfolio/domains/lookups.py:_no_sums": "base currencies, which ISO 4217 lists",
}


def starts_thread(file: Source) -> bool:
    """Return whether the file starts a thread, or runs a function in one."""
    return any(isinstance(node, ast.Call) and _name(node.func) in _THREADS for node in file.nodes)


def stray_thread(file: Source) -> Iterator[str]:
    """Yield each file that starts threads without a reason: they run on when their request has ended."""
    if str(file.path) not in MAY_START_THREADS and starts_thread(file):
        yield f"{file.path}: starts a thread; compute in slices instead (kit/http/slices.py)"


def stray_stream(file: Source) -> Iterator[str]:
    """Yield each stream of Starlette, whose parts are computed on the serving loop."""
    for node in file.nodes:
        if isinstance(node, ast.Call) and _name(node.func) == "StreamingResponse":
            yield f"{file.at(node)}: use HeavyStream (kit/http/heavy_requests.py)"


def cached_without_limit(file: Source) -> Iterator[str]:
    """Yield the name of each function with parameters whose results are kept without a limit."""
    for function in functions(file):
        if _has_parameters(function) and any(map(_is_unlimited, function.decorator_list)):
            yield f"{file.path}:{function.name}"


def unbounded_cache(file: Source) -> Iterator[str]:
    """Yield caches without a limit, which text of users can fill."""
    for name in cached_without_limit(file):
        if name not in MAY_CACHE_ALL:
            yield f"{name}: use lru_cache(maxsize=...)"
    for node in file.nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Call) and _is_unlimited(node.func):
            yield f"{file.at(node)}: use lru_cache(maxsize=...)"


def _name(node: ast.expr) -> str:
    return ast.unparse(node).rpartition(".")[2]


def _has_parameters(function: Function) -> bool:
    given = function.args
    return bool(given.posonlyargs or given.args or given.kwonlyargs or given.vararg or given.kwarg)


def _is_unlimited(decorator: ast.expr) -> bool:
    if not isinstance(decorator, ast.Call):
        return _name(decorator) == "cache"
    sizes = [*decorator.args[:1], *(each.value for each in decorator.keywords if each.arg == "maxsize")]
    is_none = any(isinstance(each, ast.Constant) and each.value is None for each in sizes)
    return _name(decorator.func) == "lru_cache" and is_none
