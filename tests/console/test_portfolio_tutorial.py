"""The tutorial of the portfolio in the console: its commands, its forms and its labels."""

import html
import re
import subprocess
from pathlib import Path

import pytest

from tests.cast import Person
from tests.console.test_portfolio_import import choose, domains
from tests.console.test_portfolio_renewals import decisions, read
from tests.console.visitor import Visitor, action_of, fields_of

PAGE = Path(__file__).parents[2] / "docs" / "tutorial" / "portfolio-console.md"


@pytest.fixture
def commands(tmp_path: Path) -> str:
    """Return the commands of the page, which were run in an empty folder."""
    found = re.findall(r"^```sh\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    subprocess.run(["bash", "-eu", "-c", "\n".join(found)], cwd=tmp_path, check=True)
    return "".join(found)


async def test_the_tutorial_leads_from_a_messy_file_to_decisions(
    browser: Visitor, alice: Person, tmp_path: Path, commands: str
) -> None:
    text = PAGE.read_text(encoding="utf-8")
    unnamed = await choose(browser, (tmp_path / "mine.csv").read_bytes())
    fields = {**fields_of(unnamed, "import-start"), "field.0": "domain"}
    preview = await browser.post_form(action_of(unnamed, "import-start").replace("start", "preview"), fields)
    assert "No column was recognized as the domain" in unnamed.text
    assert re.findall(r'<td data-label="([^"]+)" class="wrong">', preview.text) == ["Expiry Date", "What I own"]
    await browser.submit(preview, "import-start", save_as="what-i-own")
    assert len(await domains(alice)) == 4

    summary = await browser.open("/console/portfolio")
    worst = summary.text.partition("Worst by net")[2]
    assert re.findall(r"[a-z-]+\.(?:com|net)", worst)[0] == "velvet-anchor.com"

    renewals = await browser.open("/console/portfolio/renewals?budget=40&drop_max_income=20")
    assert await decisions(alice) == dict.fromkeys(
        ("paper-harbour.com", "stone-ferry.net", "velvet-anchor.com"), "undecided"
    )
    assert "Of a budget of" in renewals.text
    assert re.search(r"with an income up to <span[^>]*>20\.00", renewals.text)
    chosen = {"paper-harbour.com": "renew", "stone-ferry.net": "renew", "velvet-anchor.com": "drop"}
    ids = {each["domain"]: each["domain_id"] for each in (await read(alice))["items"]}
    typed = {f"decision.{ids[name]}": decision for name, decision in chosen.items()}
    done = await browser.submit(renewals, "renewals-decide", **typed)
    assert await decisions(alice) == chosen

    shown = html.unescape(" ".join(page.text for page in (unnamed, preview, summary, renewals, done)))
    shown += (await browser.open("/console/portfolio/import")).text
    labels = {" ".join(each.split()) for each in re.findall(r'"([A-Z][^"$]+)"', text.replace(commands, ""))}
    assert {each for each in labels if each not in shown} == set()
