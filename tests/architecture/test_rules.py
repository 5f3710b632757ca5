"""The architecture rules on the code, and each rule on samples that break it."""

import pytest

from tests.architecture import habits, interfaces, resources, sizes
from tests.architecture.others import EVERYWHERE, Others
from tests.architecture.source import Rule, Source, breaches, functions, source

OF_THE_SERVICE: list[Rule] = [
    interfaces.private_import,
    interfaces.signature,
    interfaces.find_without_none,
    habits.catch_all,
    habits.http_in_records,
    habits.import_by_name,
    habits.mail_parser,
    habits.second_source,
    habits.merge_patch,
    habits.parted_text,
    habits.stray_job,
    habits.unfenced_transaction,
    sizes.busy_package,
    sizes.long_handler,
    sizes.participle_name,
]


def test_the_files_of_the_service_are_found(codebase: list[Source]) -> None:
    assert {"builders/app.py", "builders/kit/http/compiled_routes.py"} <= {str(file.path) for file in codebase}


@pytest.mark.parametrize("rule", [*OF_THE_SERVICE, *EVERYWHERE])
def test_the_service_keeps_the_rule(rule: Rule, codebase: list[Source]) -> None:
    errors = breaches(rule, codebase)
    assert not errors, "\n".join(errors)


def test_tests_benchmarks_and_docs_keep_the_rules(others: Others) -> None:
    errors = [f"{rule.__name__}: {each}" for rule in EVERYWHERE for each in others.found[rule]]
    assert others.folders == {"tests", "bench", "soak", "docs"}
    assert not errors, "\n".join(errors)


def test_no_constant_is_patched(others: Others) -> None:
    found = others.found[habits.patched_constant]
    assert not found, "\n".join(found)


def test_every_folder_is_a_package(codebase: list[Source]) -> None:
    assert interfaces.folders_without_init(codebase) == []


def test_a_folder_without_init_is_reported() -> None:
    files = [source("builders/mail/__init__.py", ""), source("builders/leads/service.py", "")]
    assert interfaces.folders_without_init(files) == ["builders/leads"]


def test_every_allowed_handler_exists(codebase: list[Source]) -> None:
    existing = {f"{file.path}:{function.name}" for file in codebase for function in functions(file)}
    allowed = habits.MAY_CATCH_ALL.keys() | habits.MAY_IMPORT.keys() | habits.MAY_PART.keys()
    assert sorted(allowed - existing) == []


def test_every_module_that_may_parse_mail_does_and_serves_no_requests(codebase: list[Source]) -> None:
    parsing = {str(file.path) for file in codebase if list(habits.mail_parser(file, allowed={}))}

    assert parsing == habits.MAY_PARSE_MAIL.keys()
    assert not [each for each in parsing if each.startswith(habits.SERVES_REQUESTS)]


def test_no_class_repeats_a_resource(codebase: list[Source]) -> None:
    assert {*resources.repeated_resources(codebase)} == resources.MAY_REPEAT.keys()


@pytest.mark.parametrize(
    ("resource", "other", "is_copy"),
    [("abcdef", "abcd", True), ("abcdef", "abcx", False), ("abc", "abcx", True), ("abc", "abx", False)],
)
def test_a_class_that_repeats_a_resource_is_found(resource: str, other: str, *, is_copy: bool) -> None:
    lines = {each: f"    {each}: Annotated[str, doc('Text.')]\n" for each in "abcdefx"}
    record, reply = ("".join(lines[each] for each in members) for members in (resource, other))
    files = [
        source("builders/mail/records.py", f"@resource('MailReply')\nclass Mail:\n{record}"),
        source("builders/mail/replies.py", f"class MailReply:\n{reply}"),
        source("builders/leads/replies.py", f"class LeadReply:\n{record}"),
    ]
    assert list(resources.repeated_resources(files)) == ([("Mail", "MailReply")] if is_copy else [])


LINES = "    pass\n"
HANDLER = "@router.get('/x')\nasync def get():\n    '''Reads.'''\n"
WIDE_HANDLER = HANDLER.replace("'/x'", "'/x',\n    a=1,\n    b=2,\n")

# A rule, a file that breaks it, and the error.
BROKEN: list[tuple[Rule, str, str, str]] = [
    (interfaces.private_import, "builders/app.py", "from builders.mail import store", "builders.mail.store"),
    (interfaces.private_import, "builders/app.py", "from builders.mail import jobs", "builders.mail.jobs"),
    (interfaces.private_import, "builders/worker.py", "from builders.mail import api", "builders.mail.api"),
    (interfaces.private_import, "builders/plans/planning.py", "from ..aliases.store import X", "aliases.store.X"),
    (interfaces.private_import, "builders/plans/planning.py", "from ..aliases import schemas", "aliases.schemas"),
    (
        interfaces.private_import,
        "builders/portfolio/team/api.py",
        "import builders.portfolio.ledger.store",
        "ledger.store",
    ),
    (interfaces.private_import, "builders/portfolio/team/api.py", "from ..ledger import api", "ledger.api"),
    (
        interfaces.signature,
        "builders/mail/service.py",
        "async def send(address, conn): ...",
        "send(address, conn)",
    ),
    (
        interfaces.signature,
        "builders/mail/service.py",
        "async def send(conn, address): ...",
        "send(conn, address)",
    ),
    (interfaces.signature, "builders/mail/service.py", "async def send(*, conn): ...", "send()"),
    (interfaces.signature, "builders/mail/service.py", "async def send(conn, *rest): ...", "send(conn)"),
    (habits.enum_literal, "builders/x.py", "A = Literal[Status.OPEN]", "Status.OPEN in a Literal"),
    *(
        (habits.http_in_records, "builders/mail/records.py", each, "in records")
        for each in ("import fastapi", "from fastapi import Query", "from builders.kit.http.bodies import Reply")
    ),
    (
        habits.unfenced_transaction,
        "builders/mail/api.py",
        "async def f(pool):\n async with pool.connection() as conn, conn.transaction(force_rollback=True): ...",
        "use Database.transaction",
    ),
    (habits.late_import, "builders/mail/service.py", "def f():\n    import os", "inside f"),
    (habits.late_import, "builders/mail/service.py", "def f():\n    from os import path", "inside f"),
    (
        habits.import_by_name,
        "builders/x.py",
        "importlib.import_module('builders.mail')",
        "by name at run time",
    ),
    (habits.typing_import, "builders/x.py", "if TYPE_CHECKING:\n    import os", "TYPE_CHECKING"),
    (habits.typing_import, "builders/x.py", "if typing.TYPE_CHECKING:\n    import os", "TYPE_CHECKING"),
    (habits.catch_all, "builders/x.py", "def f():\n  try: g()\n  except Exception: ...", "catches Exception"),
    (
        habits.catch_all,
        "builders/x.py",
        "def f():\n  try: g()\n  except (A, Exception): ...",
        "builders/x.py:f",
    ),
    (habits.catch_all, "builders/x.py", "try: g()\nexcept: ...", "catches BaseException"),
    (habits.catch_all, "builders/x.py", "try: g()\nexcept Exception as e:\n  raise X from e", "catches Exception"),
    (habits.catch_all, "builders/x.py", "with suppress(Exception): g()", "catches Exception"),
    *(
        (habits.mail_parser, path, f"{each}\n", "takes long")
        for path in ("builders/kit/http/x.py", "builders/console/x.py", "builders/mail/service.py")
        for each in (
            "import email",
            "import email.message",
            "from email import policy",
            "from email.utils import x",
        )
    ),
    (habits.second_source, "builders/x.py", "datetime.now(UTC)", "builders/kit/values/clock.py"),
    (habits.second_source, "builders/x.py", "datetime.date.today()", "builders/kit/values/clock.py"),
    (habits.second_source, "builders/x.py", "from uuid import uuid4", "builders/kit/values/ids.py"),
    (habits.second_source, "builders/x.py", "import httpx", "builders/kit/outbound/connections.py"),
    (habits.second_source, "builders/x.py", "import urllib.request", "builders/kit/outbound/connections.py"),
    (
        habits.stray_job,
        "builders/mail/service.py",
        "@queue.app.task(name='x')\nasync def f(): ...",
        "queue.app.task belongs in jobs.py",
    ),
    (
        habits.stray_job,
        "builders/mail/service.py",
        "@dispatcher.subscribe('x')\nasync def f(): ...",
        "subscribe",
    ),
    (habits.merge_patch, "builders/mail/schemas.py", "sent = self.model_fields_set", "PatchBody.patch_of"),
    (habits.merge_patch, "builders/mail/schemas.py", "self.model_dump(exclude_unset=True)", "exclude_unset"),
    (habits.parted_text, "builders/portfolio/x.py", "entry.memo.split('/')", "store its parts in columns"),
    (habits.parted_text, "builders/portfolio/x.py", "text.rpartition(':')[2]", "store its parts in columns"),
    (habits.parted_text, "builders/portfolio/x.py", "RULE.fullmatch(entry.reference or '')", "entry.reference"),
    (habits.parted_text, "builders/portfolio/x.py", "reference.startswith('renewal:')", "store its parts"),
    (sizes.busy_package, "builders/mail/__init__.py", '"""Mail."""\nimport os', "more than a docstring"),
    (sizes.long_file, "builders/x.py", "x = 1\n" * 501, "501 lines"),
    (sizes.long_function, "builders/x.py", "def f():\n" + LINES * 40, "f has 41 lines"),
    (sizes.long_function, "builders/x.py", "class A:\n  async def f():\n" + LINES * 40, "f has 41 lines"),
    (sizes.long_handler, "builders/mail/api.py", HANDLER + LINES * 9, "get has 9 lines"),
    (sizes.long_handler, "builders/mail/api.py", WIDE_HANDLER + LINES * 9, "get has 9 lines"),
    (sizes.vague_name, "builders/mail/utils.py", "", "utils"),
    (sizes.participle_name, "builders/webhooks/signing.py", "", "signing"),
    (interfaces.find_without_none, "builders/x.py", "def find_names() -> list[str]: ...", "find_names"),
    (habits.patched_constant, "tests/test_x.py", "monkeypatch.setattr(feed, 'MAX_WAITERS', 1)", "MAX_WAITERS"),
    (habits.patched_constant, "tests/test_x.py", "monkeypatch.setattr('builders.x._BATCH', 1)", "_BATCH"),
    (habits.patched_constant, "tests/test_x.py", "accounts.MAX_CACHED = 1", "MAX_CACHED"),
    (habits.timed_assertion, "tests/test_x.py", "assert time.monotonic() - begin < 2", "duration"),
    *(
        (habits.unexplained_exception, "builders/x.py", f"a = 1  # {each}", "builders/x.py:1")
        for each in ("noqa", "noqa: S101", "type: ignore", "type: ignore[misc]", "pyright: ignore[a]")
    ),
    (sizes.vague_name, "builders/common/mail.py", "", "common"),
]
KEPT: list[tuple[Rule, str, str]] = [
    (interfaces.private_import, "builders/app.py", "from builders.mail import api, delivery, records"),
    (interfaces.private_import, "builders/worker.py", "from builders.mail import jobs"),
    (
        interfaces.private_import,
        "builders/plans/planning.py",
        "from . import store\nfrom ..aliases import claims\nfrom ..aliases.errors import NamesRefused",
    ),
    (
        interfaces.private_import,
        "builders/portfolio/renewals/store.py",
        "from builders.portfolio.domains.store import filters",
    ),
    (
        interfaces.private_import,
        "builders/plans/planning.py",
        "from builders.kit import db\nfrom builders.kit.errors import X",
    ),
    (
        interfaces.signature,
        "builders/mail/service.py",
        "async def send(conn, *, address): ...\ndef pure(a, b): ...",
    ),
    (
        interfaces.signature,
        "builders/mail/service.py",
        "async def send(pool, *, address): ...\nasync def _step(a): ...",
    ),
    (
        habits.unfenced_transaction,
        "builders/mail/service.py",
        "async def f(conn, pool):\n async with conn.transaction(), pool.transaction() as own: ...",
    ),
    (habits.late_import, "builders/x.py", "import os\ndef f(): ..."),
    (habits.catch_all, "builders/x.py", "try: g()\nexcept ValueError: ..."),
    (habits.catch_all, "builders/x.py", "try: g()\nexcept BaseException:\n  tidy()\n  raise"),
    (habits.mail_parser, "builders/mail/renderer.py", "from email.message import EmailMessage"),
    (habits.mail_parser, "builders/console/x.py", "from builders.invoices import email\nimport emails"),
    (habits.second_source, "builders/kit/values/clock.py", "datetime.now(UTC)"),
    (habits.second_source, "builders/x.py", "from uuid import UUID\nimport urllib.parse\ntime.monotonic()"),
    (habits.merge_patch, "builders/mail/schemas.py", "Patch(note=self.patch_of('note', self.note))"),
    (habits.stray_job, "builders/mail/jobs.py", "@queue.app.task(name='x')\nasync def f(): ..."),
    (habits.stray_job, "builders/mail/service.py", "await mail.subscribe(conn, topic=topic)"),
    (habits.merge_patch, "builders/kit/http/bodies.py", "name in self.model_fields_set"),
    (habits.parted_text, "builders/portfolio/x.py", "name.rpartition('.')[2]\nurl.startswith('https:')"),
    (habits.parted_text, "builders/mail/x.py", "text.split('/')"),
    (sizes.busy_package, "builders/mail/__init__.py", '"""Mail."""'),
    (sizes.long_file, "builders/x.py", "x = 1\n" * 500),
    (habits.enum_literal, "builders/x.py", "Literal['open', 'paid']\nstatus is Status.OPEN"),
    (habits.http_in_records, "builders/mail/records.py", "from builders.kit.pages import Page"),
    (habits.http_in_records, "builders/mail/api.py", "from fastapi import Query"),
    (sizes.long_function, "builders/x.py", "@d\ndef f():\n    '''A\n\n    b.'''\n" + LINES * 39),
    (sizes.long_handler, "builders/mail/api.py", HANDLER + LINES * 8),
    (
        sizes.long_handler,
        "builders/mail/api.py",
        HANDLER + "    f(\n        conn,\n" + "        a=1,\n" * 9 + "    )",
    ),
    (sizes.long_handler, "builders/mail/api.py", "@cached()\nasync def f():\n" + LINES * 9),
    (sizes.vague_name, "builders/mail/database.py", ""),
    (sizes.participle_name, "builders/portfolio/billing/charges.py", ""),
    (interfaces.find_without_none, "builders/x.py", "def find_name() -> str | None: ..."),
    (
        habits.patched_constant,
        "tests/test_x.py",
        "patch.setattr(waiters, 'max_waiters', 1)\nclock.now = at",
    ),
    (habits.timed_assertion, "tests/test_x.py", "assert time.monotonic() < deadline"),
    *(
        (habits.unexplained_exception, "builders/x.py", f"a = 1  # {each}")
        for each in ("noqa: S101 - why", "type: ignore[misc] # why", "pyright: ignore[a] - why")
    ),
]


@pytest.mark.parametrize(("rule", "path", "text", "error"), BROKEN)
def test_a_broken_rule_is_reported(rule: Rule, path: str, text: str, error: str) -> None:
    found = list(rule(source(path, text)))
    assert len(found) == 1
    assert path in found[0]
    assert error in found[0]


@pytest.mark.parametrize(("rule", "path", "text"), KEPT)
def test_a_kept_rule_reports_nothing(rule: Rule, path: str, text: str) -> None:
    assert list(rule(source(path, text))) == []


def test_every_rule_has_a_sample_that_breaks_it() -> None:
    assert {*OF_THE_SERVICE, *EVERYWHERE, habits.patched_constant} == {rule for rule, *_ in BROKEN}


def test_an_allowed_handler_passes() -> None:
    sample = source("builders/x.py", "def f():\n  try: g()\n  except Exception: ...")
    assert list(habits.catch_all(sample, {"builders/x.py:f": "a reason"})) == []
