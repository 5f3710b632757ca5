"""Names with emoji in files and in the portfolio."""

from tests.cast import Person
from tests.portfolio.imports.make import counts, load, ok


async def test_a_name_with_emoji_goes_in_and_comes_out(alice: Person, bob: Person) -> None:
    imported = await load(alice, "Domain,Price (USD)\ni❤.ws,100.00\nxn--n28h.to,5.00\ni❤.com,5.00\n")
    assert counts(imported) == {"created": 2, "errors": 1}
    assert imported["results"][2]["errors"][0]["code"] == "domain_invalid"
    shown = ok(await alice.get("/v1/portfolio/domains/i❤.ws"))
    assert (shown["domain"], shown["domain_unicode"]) == ("xn--i-7iq.ws", "i❤.ws")
    rows = ok(await alice.get("/v1/portfolio/export"))["rows"]
    assert counts(await load(bob, rows)) == {"created": 2}
    assert ok(await bob.get("/v1/portfolio/export"))["rows"] == rows
