"""`bld names`, `bld plan`, `bld promote`, `bld approve`."""

import json
from pathlib import Path

import pytest

from builders_client.cli.state import State
from tests.cast import Person
from tests.catalog.make import catch_up
from tests.clients.python.cli.make import Bld, Ran
from tests.plans.approval.make import ALWAYS, set_policy

TO = ("--to", "ada@example.net")
MANIFEST = """\
# yaml-language-server: $schema=http://builders.test/v1/sandbox/manifest.schema.json
api_version: v1
kind: Manifest
metadata: {name: acme-mail}
resources:
  aliases:
    - key: ada
      address: ada@%s
      destinations: [ada@example.net]
"""


async def claim(bld: Bld, address: str, *words: str) -> Ran:
    return await bld("names", "claim", address, *TO, "--max-total", "12.00 USD", "--yes", *words)


async def test_a_claim_is_listed(bld: Bld, domain: str) -> None:
    claimed = await claim(bld, f"ada@{domain}", "--json", "status")
    assert (claimed.code, claimed.json) == (0, {"status": "succeeded"})
    listed = await bld("names", "list", "--json", "address,price.amount")
    assert listed.json == [{"address": f"ada@{domain}", "price.amount": "12.00"}]


async def test_a_pipe_gets_tabs(bld: Bld, domain: str) -> None:
    await claim(bld, f"ada@{domain}")
    listed = await bld("names", "list")
    assert listed.out.startswith(f"ada@{domain}\t")


async def test_a_second_claim_changes_nothing(bld: Bld, domain: str) -> None:
    await claim(bld, f"ada@{domain}")
    assert (await claim(bld, f"ada@{domain}", "--json", "status")).json == {"status": "unchanged"}


async def test_without_a_terminal_a_claim_needs_yes(bld: Bld, domain: str) -> None:
    done = await bld("names", "claim", f"ada@{domain}", *TO, given="y\n")
    assert (done.code, "--yes" in done.err) == (2, True)
    assert (await bld("names", "list", "--json")).json == []


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """A person can answer."""
    monkeypatch.setattr(State, "may_ask", True)


@pytest.mark.usefixtures("terminal")
async def test_a_person_sees_the_price_and_consents(bld: Bld, domain: str) -> None:
    done = await bld("names", "claim", f"ada@{domain}", *TO, given="y\n")
    assert (done.code, "Claim it for 12.00 USD?" in done.err) == (0, True)


@pytest.mark.usefixtures("terminal")
async def test_a_person_declines(bld: Bld, domain: str) -> None:
    done = await bld("names", "claim", f"ada@{domain}", *TO, given="n\n")
    assert (done.code, (await bld("names", "list", "--json")).json) == (130, [])


@pytest.mark.usefixtures("terminal")
async def test_a_person_reviews_the_plan_before_it_is_promoted(bld: Bld, manifest: Path) -> None:
    plan = (await bld("plan", "-f", str(manifest), "--json")).json
    assert (await bld("promote", plan["id"], given="n\n")).code == 130
    done = await bld("promote", plan["id"], given="y\n")
    assert (done.code, "+ create alias.ada" in done.out) == (0, True)


async def test_a_price_above_the_limit_is_refused_by_a_rule(bld: Bld, domain: str) -> None:
    done = await bld("names", "claim", f"ada@{domain}", *TO, "--max-total", "11.99 USD", "--yes")
    assert (done.code, "--max-total '12.00 USD'" in done.err) == (5, True)


async def test_an_amount_without_currency_is_a_usage_error(bld: Bld, domain: str) -> None:
    done = await bld("names", "claim", f"ada@{domain}", *TO, "--max-total", "12", "--yes")
    assert done.code == 2


async def test_a_taken_name_says_what_to_do(bld: Bld, stranger: Bld, domain: str) -> None:
    await claim(bld, f"ada@{domain}")
    done = await claim(stranger, f"ada@{domain}")
    assert (done.code, "Next: " in done.err) == (1, True)


async def test_a_stranger_does_not_see_the_name(bld: Bld, stranger: Bld, domain: str) -> None:
    await claim(bld, f"ada@{domain}")
    assert (await stranger("names", "show", f"ada@{domain}")).code == 1


async def test_a_free_name_is_checked_with_its_price(bld: Bld, domain: str) -> None:
    await catch_up(bld.service.api.state.catalog)
    done = await bld("names", "check", f"ada@{domain}")
    assert done.code == 0, done.err
    assert "12.00 USD/year" in done.out
    told = await bld("names", "check", f"ada@{domain}", "--json", "available,address,price.amount")
    assert told.json == {"available": True, "address": f"ada@{domain}", "price.amount": "12.00"}


async def test_check_exits_with_1_for_a_name_that_is_not_free(bld: Bld) -> None:
    done = await bld("names", "check", "ada@nowhere.invalid")
    assert (done.code, "Next: " in done.err) == (1, True)


async def test_suggestions_are_listed(bld: Bld, domain: str) -> None:
    assert isinstance((await bld("names", "suggest", domain.split(".", maxsplit=1)[0], "--json")).json, list)


async def test_a_name_is_changed(bld: Bld, domain: str) -> None:
    await claim(bld, f"ada@{domain}")
    done = await bld(
        "names",
        "set",
        f"ada@{domain}",
        "--disable",
        "--note",
        "away",
        "--label",
        "team=ops",
        "--json",
        "enabled,note,labels",
    )
    assert done.json == {"enabled": False, "note": "away", "labels": {"team": "ops"}}
    rules = ("--block", "eve@example.net", "--pause-until", "2036-01-01T09:00:00Z", "--reply")
    done = await bld("names", "set", f"ada@{domain}", *rules, "--json", "block,pause_until,reply")
    assert done.json == {"block": ["eve@example.net"], "pause_until": "2036-01-01T09:00:00Z", "reply": True}
    done = await bld("names", "set", f"ada@{domain}", "--block", "", "--pause-until", "", "--json", "block,reply")
    assert done.json == {"block": [], "reply": True}


async def test_a_name_is_released_with_consent_only(bld: Bld, domain: str) -> None:
    await claim(bld, f"ada@{domain}")
    assert (await bld("names", "release", f"ada@{domain}")).code == 2
    assert (await bld("names", "release", f"ada@{domain}", "--yes", "--json")).json["status"] == "released"


@pytest.fixture
def manifest(tmp_path: Path, domain: str) -> Path:
    path = tmp_path / "names.yaml"
    path.write_text(MANIFEST % domain)
    return path


def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


async def test_a_plan_shows_the_changes_with_prices(bld: Bld, manifest: Path, domain: str) -> None:
    done = await bld("plan", "-f", str(manifest))
    assert done.code == 0, done.err
    assert f"+ create alias.ada  ada@{domain}  12.00 USD/year" in done.out
    assert "Price: 12.00 USD a year" in done.out
    assert "bld promote" in done.err


async def test_changes_have_an_exit_code_where_asked(bld: Bld, manifest: Path) -> None:
    assert (await bld("plan", "-f", str(manifest), "--detailed-exitcode")).code == 3


async def test_a_plan_is_promoted_with_its_digest(bld: Bld, manifest: Path) -> None:
    plan = (await bld("plan", "-f", str(manifest), "--json")).json
    refused = await bld("promote", plan["id"], "--yes")
    assert (refused.code, "--digest" in refused.err) == (2, True)
    done = await bld("promote", plan["id"], "--digest", plan["digest"], "--json", "status")
    assert done.json == {"status": "succeeded"}
    again = await bld("plan", "-f", str(manifest), "--detailed-exitcode")
    assert (again.code, "no changes" in again.out) == (0, True)


async def test_another_digest_is_refused(bld: Bld, manifest: Path) -> None:
    plan = (await bld("plan", "-f", str(manifest), "--json")).json
    assert (await bld("promote", plan["id"], "--digest", "sha256:" + "0" * 64)).code == 1


async def test_the_manifest_is_read_from_the_input(bld: Bld, manifest: Path) -> None:
    assert (await bld("plan", "-f", "-", given=text_of(manifest))).code == 0


async def test_json_is_planned_however_it_is_indented(bld: Bld, tmp_path: Path, domain: str) -> None:
    alias = {"key": "ada", "address": f"ada@{domain}", "destinations": ["ada@example.net"]}
    manifest = {"api_version": "v1", "kind": "Manifest", "metadata": {"name": "acme-mail"}}
    for indent in ("\t", 2, None):
        text = json.dumps({**manifest, "resources": {"aliases": [alias]}}, indent=indent)
        (tmp_path / "names.json").write_text(f"\ufeff{text}", encoding="utf-8")
        done = await bld("plan", "-f", str(tmp_path / "names.json"))
        assert (done.code, f"ada@{domain}" in done.out) == (0, True), done.err


async def test_an_error_of_json_with_tabs_has_line_and_column(bld: Bld, tmp_path: Path) -> None:
    file = tmp_path / "names.json"
    file.write_text(
        '{\n\t"api_version": "v1",\n\t"kind": "Manifest",\n\t"metadata": {"name": 7}, "resources": {}\n}'
    )
    done = await bld("plan", "-f", str(file))
    assert (done.code, "names.json:4:" in done.err) == (2, True), done.err


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        ("key: ada", "kye: ada", ":7:"),
        ("destinations: [ada@example.net]", "destinations: [ada@example.net, nonsense]", ":9:39"),
        ("kind: Manifest", "kind: [", ":5:"),
        ("kind: Manifest", "kind: Manifest\nkind: Manifest", ":4:1: the member kind is there twice"),
        ("api_version: v1\n", "", ":2:1"),
        (MANIFEST.splitlines()[7].strip(), "address: ada@nowhere.invalid", ":7:7"),
    ],
)
async def test_an_error_of_the_file_has_line_and_column(
    bld: Bld, manifest: Path, domain: str, old: str, new: str, place: str
) -> None:
    old = old % domain if "%s" in old else old
    text = text_of(manifest)
    assert old in text
    write(manifest, text.replace(old, new, 1))
    done = await bld("plan", "-f", str(manifest))
    assert done.code in {1, 2}
    assert f"names.yaml{place}" in done.err
    assert "Next: " in done.err


async def test_a_missing_file_says_so(bld: Bld, tmp_path: Path) -> None:
    done = await bld("plan", "-f", str(tmp_path / "absent.yaml"))
    assert (done.code, "absent.yaml" in done.err, "Next: " in done.err) == (1, True, True)


async def test_a_required_approval_is_refused_with_the_way_to_the_page(
    bld: Bld, alice: Person, manifest: Path, domain: str
) -> None:
    await set_policy(alice, **ALWAYS)
    plan = (await bld("plan", "-f", str(manifest), "--json")).json
    done = await bld("promote", plan["id"], "--digest", plan["digest"])
    assert (done.code, f"bld approve {plan['id']}" in done.err) == (5, True)
    asked = (await bld("approve", plan["id"], "--ask", "--json")).json
    assert plan["id"] in asked["review_url"]
    assert (await bld("promote", plan["id"], "--digest", plan["digest"])).code == 5
    assert (await claim(bld, f"eve@{domain}")).code == 5
