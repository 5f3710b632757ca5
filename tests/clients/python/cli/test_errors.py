"""Every error says what to do next, with its exit code; hostile far ends get nothing."""

import json
import time
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner, Result

from builders_client.cli.faults import COMMANDS
from builders_client.cli.main import app, command_map
from builders_client.generated.operations import OPERATIONS
from builders_client.problems import ReplyInvalid
from builders_client.transport import Request, Transport
from tests.clients.python.cli.make import Bld
from tests.clients.python.far_end import Answer, answering, in_turn


def problem(status: int, code: str, **members: Any) -> Answer:
    return Answer(status, {"status": status, "code": code, "title": "No.", "detail": "No.", **members})


FIELDS = [
    {"loc": ["body", "url"], "msg": "It must begin with https://.", "type": "url", "did_you_mean": None},
    {"loc": ["query", "limit"], "msg": "It is too big.", "type": "less_than", "did_you_mean": "100"},
]
# The answer of the service, the exit code, and what the person reads.
REFUSALS = [
    (problem(401, "credentials_invalid", next_action="Send another key."), 4, "Next: Sign in with `bld login`"),
    (problem(403, "role_insufficient"), 5, "Next: Use another key"),
    (problem(403, "insufficient_scope", next_action="GET /v1/api-keys/scopes has them."), 4, "Next: Use another"),
    (problem(404, "project_not_found"), 1, "Next: Check the name or the id"),
    (
        problem(409, "in_use", next_action="See GET /v1/builders/projects first."),
        1,
        "Next: See `bld api projects_list_projects`",
    ),
    (problem(409, "alias_limit"), 5, "Next: Look at the present state"),
    (
        problem(422, "invalid", detail=FIELDS),
        1,
        "url: It must begin with https://.\nlimit: It is too big. Did you",
    ),
    (problem(501, "teapot"), 1, "Next: Repeat the command in a minute"),
    (Answer(200, b"<html>"), 1, "Next: Check the address"),
    (Answer(404, b"<html>"), 1, "Next: Check"),
]


def run(address: str, *words: str, **env: str) -> Result:
    given = {"BUILDERS_API_URL": address, "BUILDERS_API_KEY": "svc_live_key", "NO_COLOR": "1", **env}
    done = CliRunner().invoke(app, list(words), env=given, prog_name="bld")
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done


def test_each_refusal_has_its_exit_code_and_says_what_to_do() -> None:
    for answer, code, text in REFUSALS:
        with answering(in_turn(answer)) as far_end:
            done = run(far_end.address, "names", "list")
        assert (done.exit_code, text in done.stderr, done.stdout) == (code, True, ""), done.stderr
        assert "Next: " in done.stderr


def test_without_network_or_tls_it_says_what_to_check(tmp_path: Path) -> None:
    with answering(in_turn(Answer(200))) as far_end:
        plain = far_end.address.replace("http:", "https:")
        for address in ("http://127.0.0.1:1", "http://nowhere.invalid", plain):
            done = run(address, "login", "--no-browser", XDG_CONFIG_HOME=str(tmp_path))
            assert (done.exit_code, "Next: Check the address" in done.stderr) == (1, True), done.stderr


def test_a_wait_for_the_service_is_told() -> None:
    with answering(in_turn(Answer(503, headers={"Retry-After": "0"}), Answer(200, {"items": []}))) as far_end:
        done = run(far_end.address, "names", "list")
    assert "No answer yet: HTTP 503" in done.stderr


async def test_files_that_cannot_be_written_are_named(bld: Bld, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for words, env in (
        (("api", "projects_list_projects", "-o", "/dev/full"), {}),
        (("api", "projects_list_projects", "-o", str(tmp_path)), {}),
        (("api", "projects_create", "--input", str(tmp_path / "absent")), {}),
        (("portfolio", "import", str(tmp_path / "absent")), {}),
        (("listen", "--exec", "true", "--no-follow"), {"XDG_STATE_HOME": str(tmp_path / "file")}),
    ):
        done = await bld(*words, **env)
        assert (done.code, "Next: " in done.err) == (1, True), words


async def test_a_hostile_manifest_is_a_usage_error(bld: Bld, tmp_path: Path) -> None:
    levels = [f"  l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 9)}]" for n in range(1, 10)]
    bomb = "\n".join(["metadata:", "  l0: &l0 [x, x, x, x, x, x, x, x, x]", *levels])
    for content in (bomb.encode(), b"[" * 5_000, b"name: \xff", b"name: \x00"):
        (tmp_path / "names.yaml").write_bytes(content)
        done = await bld("plan", "-f", str(tmp_path / "names.yaml"))
        assert (done.code, "Next: " in done.err) == (2, True), done.err


async def test_a_broken_cursor_file_says_what_to_do(bld: Bld, tmp_path: Path) -> None:
    (tmp_path / "cursor").write_text('{"cursor": "ab')
    done = await bld("listen", "--exec", "true", "--no-follow", "--cursor-file", str(tmp_path / "cursor"))
    assert (done.code, "Delete the file" in done.err) == (1, True)


async def test_keys_that_others_can_read_are_not_used(bld: Bld, tmp_path: Path) -> None:
    file = tmp_path / "config" / "bld" / "profiles.json"
    file.parent.mkdir(parents=True)
    file.write_text('{"profiles": {"default": {"url": "http://builders.test", "keys": []}}}')
    file.chmod(0o644)
    bld.key = None
    done = await bld("names", "list")
    assert (done.code, "chmod 600" in done.err) == (4, True)


def test_a_redirect_of_the_service_does_not_get_the_key() -> None:
    with answering(in_turn(Answer(200, {"items": []}))) as other:
        away = Answer(302, {}, {"Location": other.address, "Link": f'<{other.address}>; rel="next"'})
        with answering(in_turn(away)) as far_end:
            done = run(far_end.address, "names", "list")
    assert (done.exit_code, other.asked) == (1, [])


def test_an_answer_without_end_is_refused() -> None:
    with answering(in_turn(Answer(200, b"x" * 200))) as far_end:
        http, request = Transport(None, most_bytes=100), Request("GET", far_end.address, {}, None)
        with pytest.raises(ReplyInvalid):
            http.send(request, idle=30, end=time.monotonic() + 30)
        http.close()


def test_hostile_text_stays_text() -> None:
    note = "[red]x[/red] \x1b[2J\nstatus  active \u202e"
    name: dict[str, Any] = {
        "id": "1",
        "address": "a@b.example",
        "status": "released",
        "note": note,
        "labels": {"[b]": "\x9b2J"},
    }
    name |= {"enabled": True, "destinations": []}
    with answering(in_turn(Answer(200, name))) as far_end:
        shown = run(far_end.address, "names", "show", "0193a1b2-0000-7000-8000-000000000001").stdout
        told = run(far_end.address, "names", "show", "0193a1b2-0000-7000-8000-000000000001", "--json").stdout
    assert "[red]x[/red] \ufffd[2J\n            status  active \ufffd" in shown
    assert "labels.[b]  \ufffd2J" in shown
    assert "\\u009b2J" in told
    assert "\\u202e" in told


HEAD = "api_version: v1\nkind: Manifest\nmetadata: {name: x}\n"
WRONG = {
    "!!bool x": ":4:4",
    "!!int ''": ":4:4",
    "!!int 0x": ":4:4",
    "!!float ''": ":4:4",
    "!!timestamp x": ":4:4",
    "!!binary '*'": ":4:4",
    "!!binary aGk=": ":4:4",
    "!!python/object:os.system x": ":4:4",
    ".nan": ":4:4",
    "-.inf": ":4:4",
    "=": ":4:4",
    "{? [a]: b}": ":4:7",
    "{? {a: b}: c}": ":4:7",
    "{<<: 1}": ":4:9",
    "*absent": ":4:4",
    "\t- x": ":4:4",
    "0x" + "f" * 5000: "4300 digits",
}


async def test_whatever_the_reader_of_yaml_raises_is_one_sentence_with_its_place(bld: Bld, tmp_path: Path) -> None:
    file = tmp_path / "names.yaml"
    for text, place in WRONG.items():
        file.write_text(f"{HEAD}x: {text}\nresources: {{}}\n", encoding="utf-8")
        done = await bld("plan", "-f", str(file))
        assert (done.code, place in done.err, done.err.count("\n")) == (2, True, 2), (text, done.err)


async def test_a_mistake_in_json_with_tabs_has_its_place(bld: Bld, tmp_path: Path) -> None:
    file = tmp_path / "names.json"
    file.write_text('{\n\t"api_version": "v1",\n\t"kind": "Manifest",\n}')
    done = await bld("plan", "-f", str(file))
    assert (done.code, "names.json:4:1" in done.err) == (2, True), done.err


def test_a_connection_that_is_refused_fails_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    monkeypatch.setattr(Transport, "sleep", lambda _, seconds: waits.append(seconds))
    for address in ("http://127.0.0.1:1", "http://nowhere.invalid"):
        for words in (("names", "list"), ("names", "list", "--json"), ("whoami",)):
            done = run(address, *words)
            assert (done.exit_code, "Next: " in done.stderr or "next_action" in done.stderr) == (1, True)
    assert waits == []


def test_a_service_that_restarts_between_two_pages_is_waited_for() -> None:
    pages = in_turn(
        Answer(200, {"items": [], "next_cursor": "b"}),
        Answer(None),
        Answer(200, {"items": [], "next_cursor": None}),
    )
    with answering(pages) as far_end:
        assert run(far_end.address, "names", "list").exit_code == 0


async def test_an_unknown_id_names_the_command_that_lists_them(bld: Bld) -> None:
    for words, command in (
        (("webhooks", "show", "123"), "`bld webhooks list`"),
        (("webhooks", "delivery", "123"), "`bld webhooks deliveries`"),
        (("invoices", "show", "123"), "`bld invoices list`"),
    ):
        done = await bld(*words)
        assert (done.code, command in done.err) == (1, True), done.err


def test_each_command_in_the_place_of_an_operation_exists() -> None:
    tree = command_map(typer.main.get_command(app), "bld")
    for operation, text in COMMANDS.items():
        assert operation in OPERATIONS
        level = tree
        for word in text.split()[1:]:
            if word.isupper() or word.startswith("--"):
                break
            [level] = [each for each in level["commands"] if each["name"] == word]
        options = {option for each in level["parameters"] for option in each["options"]}
        assert {word for word in text.split() if word.startswith("--")} <= options


def test_each_scope_of_a_login_is_asked_for() -> None:
    with answering(in_turn(problem(403, "later"))) as far_end:
        for words in ((), ("--scope", "live", "--scope", "developer_full"), ("--scope", "live developer_full")):
            run(far_end.address, "login", "--no-browser", *words)
    scopes = [json.loads(each.body)["scope"] for each in far_end.asked]
    assert scopes == ["developer_full domainer_full live", "live developer_full", "live developer_full"]
