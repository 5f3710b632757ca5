import json

from builders.kit.values import ids
from tests.cli.conftest import Cli


def fresh() -> str:
    """Return an unused domain."""
    return f"shop-{ids.new().hex}.example"


def test_a_domain_is_assigned_listed_and_unassigned(builders: Cli, account: str) -> None:
    domain = fresh()

    given = builders("domains", "assign", domain, "--account", account, "--source", "leased")
    listed = builders("domains", "list", "--account", account)
    taken = builders("domains", "unassign", domain)

    assert given.stdout == f"{domain} is live for {account} (leased).\n"
    assert listed.stdout.split()[-1] == domain
    assert taken.stdout == f"{domain} is not assigned.\n"
    assert builders("domains", "list", "--account", account, "--status", "live").stdout == "No domains.\n"


def test_the_json_output(builders: Cli, account: str) -> None:
    domain = fresh()

    given = json.loads(
        builders("domains", "assign", domain, "--account", account, "--source", "consigned", "--json").stdout
    )
    [listed] = json.loads(builders("domains", "list", "--account", account, "--json").stdout)
    taken = json.loads(builders("domains", "unassign", domain, "--json").stdout)

    assert given == listed
    assert (given["domain"], given["status"], given["source"], given["method"]) == (
        domain,
        "live",
        "consigned",
        "operator",
    )
    assert given["dns"] == dict.fromkeys(("mx", "spf", "dkim", "dmarc"), "unchecked")
    assert taken["status"] == "released"


def test_a_refusal_has_a_next_action(builders: Cli, account: str) -> None:
    domain, other = fresh(), f"{ids.new().hex}@builders.example"
    assert builders("accounts", "create", "--email", other).exit_code == 0
    builders("domains", "assign", domain, "--account", account, "--source", "leased")

    refused = builders("domains", "assign", domain, "--account", other, "--source", "leased")

    assert refused.exit_code == 1
    assert refused.stderr == f"Error: Another account has {domain}.\nbuilders domains unassign {domain}\n"


def test_invalid_input_is_refused(builders: Cli, account: str) -> None:
    wrong = builders("domains", "assign", "localhost", "--account", account, "--source", "leased")
    unknown = builders("domains", "assign", fresh(), "--account", account, "--source", "catalog")
    nobody = builders("domains", "unassign", fresh())

    assert [each.exit_code for each in (wrong, unknown, nobody)] == [1, 1, 1]
    assert "Not a domain" in wrong.output
    assert "The catalog has no domain" in unknown.output
    assert "No account holds" in nobody.output
    assert builders("domains", "unassign", "localhost").exit_code == 1
    assert builders("domains", "assign", fresh(), "--account", account, "--source", "stolen").exit_code == 2
