"""The rights that a program derives from the statements: how it reads, and what no role may have."""

import pytest

from builders.kit.db import rights
from tests.architecture import grants
from tests.architecture.grants import HTTP, OPERATOR, WORKER, Codebase, needs, statements_of
from tests.architecture.source import source
from tests.architecture.statements import Statement
from tests.kit.db.files import make_file

# The columns of the books that a role may change, by the part of the product that does, with the reason.
MAY_CHANGE = {
    # Not which account a sandbox account belongs to.
    "identity_accounts": {"email", "email_changed_at", "email_verified_at", "erased_at", "name"},
    "invoices_invoices": {
        *("number", "issued_at", "buyer", "credit_applied"),  # a draft is issued
        *("status", "amount_paid", "paid_at", "payment_method", "payment_reference"),  # it is paid
        *("voided_at", "void_reason", "uncollectible_at"),  # it ends unpaid
        *("stage", "counted_from"),  # it is overdue
    },
    "portfolio_ledger_entries": {
        *("voided_at", "voided_by", "void_reason"),  # an entry stays when it is voided
        *("base_currency", "fx_rate", "fx_date", "base_amount", "awaits_rates", "is_own_rate"),  # new rates
    },
}


def test_the_file_is_what_the_statements_need() -> None:
    """`script/docs` writes it again."""
    assert grants.FILE.read_text(encoding="utf-8") == grants.render(grants.derive())


@pytest.mark.parametrize("process", rights.ROLES)
def test_no_role_changes_the_books_except_by_adding_rows(process: str) -> None:
    wrong = [
        right
        for right in rights.load()[process]
        if right.name in grants.BOOKS and right.privilege not in {"SELECT", "INSERT"}
        if right.privilege != "UPDATE" or right.column not in MAY_CHANGE.get(right.name, ())
    ]
    assert wrong == []


def test_only_the_worker_makes_and_drops_partitions() -> None:
    able = {
        process
        for process, own in rights.load().items()
        if {"kit_make_partitions", "kit_drop_partitions"} & {right.name for right in own}
    }
    assert able == {WORKER}


def test_the_look_up_server_reads_addresses_and_whether_a_restore_is_accepted() -> None:
    assert {each.name for each in rights.load()["lookup"]} == {"aliases_lookups", "kit_restores"}
    assert {each.privilege for each in rights.load()["lookup"]} == {"SELECT"}


@pytest.mark.parametrize(
    ("text", "needed"),
    [
        ("SELECT 1 FROM one JOIN two USING (id)", {("one", "SELECT"), ("two", "SELECT")}),
        ("WITH two AS (SELECT 1 FROM one) SELECT 1 FROM two", {("one", "SELECT")}),
        ("SELECT 1 FROM information_schema.tables", set()),
        ("INSERT INTO one VALUES (%(id)s)", {("one", "INSERT")}),
        ("INSERT INTO one VALUES (1) RETURNING id", {("one", "INSERT"), ("one", "SELECT")}),
        ("INSERT INTO one VALUES (1) ON CONFLICT DO NOTHING", {("one", "INSERT"), ("one", "SELECT")}),
        (
            "INSERT INTO one VALUES (1) ON CONFLICT (id) DO UPDATE SET name = ''",
            {("one", "INSERT"), ("one", "SELECT"), ("one", "UPDATE")},
        ),
        ("UPDATE one SET name = ''", {("one", "SELECT"), ("one", "UPDATE")}),
        (
            "UPDATE invoices_lines SET amount = 1",
            {("invoices_lines", "SELECT"), ("invoices_lines", "UPDATE amount")},
        ),
        ("DELETE FROM one USING two", {("one", "SELECT"), ("one", "DELETE"), ("two", "SELECT")}),
        ("SELECT 1 FROM one FOR UPDATE", {("one", "SELECT"), ("one", "UPDATE")}),
        (
            "SELECT 1 FROM one AS a JOIN two AS b USING (id) FOR SHARE OF b",
            {("one", "SELECT"), ("two", "SELECT"), ("two", "UPDATE")},
        ),
        (
            "SELECT 1 FROM one WHERE id IN (SELECT id FROM two) FOR UPDATE",
            {("one", "SELECT"), ("one", "UPDATE"), ("two", "SELECT")},
        ),
        ("LOCK TABLE one IN SHARE ROW EXCLUSIVE MODE", {("one", "UPDATE")}),
        ("SELECT nextval('one_serial')", {("one_serial", "USAGE")}),
        ("SELECT invoices_clear(%(account_id)s), lower('')", {("invoices_clear", "EXECUTE")}),
    ],
)
def test_a_statement_needs_what_it_does(text: str, needed: set[tuple[str, str]]) -> None:
    assert {*needs(Statement(place="builders/one/store.py:FIND", text=text))} == needed


@pytest.mark.parametrize(
    ("backfill", "needed"),
    [
        (
            "-- backfill: one (id)\n-- rows: colour IS NULL\n-- set: colour = 'grey'\n",
            {("one", "SELECT"), ("one", "UPDATE")},
        ),
        (
            "-- backfill: one (id)\n-- rows: total IS NULL\n-- set: total = (SELECT max(n) FROM two)\n",
            {("one", "SELECT"), ("one", "UPDATE"), ("two", "SELECT")},
        ),
        (
            "-- backfill: invoices_lines (id)\n-- rows: amount IS NULL\n-- set: amount = 1\n",
            {("invoices_lines", "SELECT"), ("invoices_lines", "UPDATE amount")},
        ),
        ("-- backfill: one (id)\n-- rows: colour IS NULL\n", set()),
        ("", set()),
    ],
)
def test_the_worker_may_fill_the_rows_of_a_migration(backfill: str, needed: set[tuple[str, str]]) -> None:
    file = make_file("0018_filled.sql", "SELECT", run="after", last=backfill)
    assert {need for each in grants.backfills([file]) for need in needs(each)} == needed


FILES = [
    source("builders/one/store.py", "find = 1\nadd = 2\nremove = 3\nunused = 4"),
    source(
        "builders/one/service.py",
        "from builders.one import store\nasync def get(conn): return await store.find(conn)\n"
        "class Batch:\n    async def run(self): return await store.remove(self)\n",
    ),
    source("builders/one/__init__.py", ""),
    source(
        "builders/one/api.py",
        "from builders.one import service\nrouter = 1\n"
        "@router.get('')\nasync def read(conn): await service.get(conn)\n",
    ),
    source(
        "builders/one/jobs.py",
        "from builders.kit.jobs import queue\nfrom builders.one.service import Batch\n"
        "@queue.periodic('* * * * *')\nasync def clean(context): await Batch().run()\n",
    ),
    source(
        "builders/cli/one.py",
        "from builders.one import service, store\nfrom builders.one import jobs\n"
        "@click.command()\ndef add(): return store.add, jobs.clean\n",
    ),
]


@pytest.mark.parametrize(("process", "reached"), [(HTTP, {"find"}), (WORKER, {"remove"}), (OPERATOR, {"add"})])
def test_a_process_reaches_what_its_functions_name(process: str, reached: set[str]) -> None:
    found = Codebase(FILES).reach(process)
    assert {name for module, name in found if module == "builders.one.store"} == reached


def test_statements_are_read_of_stores_and_of_the_kit_alone() -> None:
    files = Codebase([source("builders/kit/db/known_keys.py", ""), source("builders/app.py", "")])
    found = statements_of(files, {("builders.kit.db.known_keys", "FORGET"), ("builders.app", "FLUSH_S")})
    assert [each.text for each in found] == ["DELETE FROM kit_secret_keys"]
