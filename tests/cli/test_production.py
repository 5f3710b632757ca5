"""`builders doctor --production` names each value of the demo, and what to set."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from pydantic import SecretStr

from builders.cli import production_checks
from builders.demo.service import ACCOUNTS
from builders.kit.process.issuers import OidcIssuer
from builders.kit.process.secret_keys import generate_secret
from builders.kit.process.settings import Settings
from tests.cli.conftest import Cli

ISSUER = OidcIssuer(issuer="https://login.vendor.com", audience="builders")
FIT: Mapping[str, object] = {
    "base_url": "https://api.vendor.com",
    "trusted_proxies": ("127.0.0.1",),
    "data_dir": Path("/var/lib/builders"),
    "database_url": SecretStr("postgresql://builders:w8Yk3Tq0@db.vendor.com/builders"),
    "secret_keys": (SecretStr(generate_secret()),),
    "smtp_url": SecretStr("smtps://mail.vendor.com"),
    "mail_from": "Vendor <mail@vendor.com>",
    "postmaster": "hostmaster@vendor.com",
    "mail_hosts": ("mx1.vendor.com",),
    "outbound_allow": (),
    "oidc_issuers": (ISSUER,),
    "limits": 1.0,
    "log_level": "info",
    "stripe_key": SecretStr("sk_live_7"),
    "seller_name": "Vendor Ltd",
    "seller_address": ("1 Quay", "Harbour"),
}
WRONG = [
    ("base_url", None),
    ("base_url", "http://api.vendor.com"),
    ("base_url", "https://api.builders.example"),
    ("base_url", "https://192.168.1.7"),
    ("base_url", "https://example.com"),
    ("trusted_proxies", ()),
    ("data_dir", Path(".data").absolute()),
    ("database_url", SecretStr("postgresql://builders:secret@db.vendor.com/builders")),
    ("database_url", SecretStr("postgresql://app:app@db.vendor.com/builders")),
    ("secret_keys", ()),
    ("smtp_url", None),
    ("mail_from", "Builders <mail@builders.example>"),
    ("postmaster", "ada@localhost"),
    ("mail_hosts", ("mx1.vendor.com", "mx2.builders.example")),
    ("outbound_allow", ("127.0.0.1:8100",)),
    ("oidc_issuers", (ISSUER, OidcIssuer(issuer="http://127.0.0.1:9000", audience="builders"))),
    ("limits", None),
    ("log_level", "DEBUG"),
    ("stripe_key", SecretStr("sk_test_7")),
    ("stripe_api_base", "http://127.0.0.1:9000"),
    ("seller_name", "Builders"),
    ("seller_address", ()),
]


def find(environment: Mapping[str, str] | None = None, **changed: object) -> list[str]:
    settings = Settings.model_construct(**{**Settings(_secrets_dir=None).model_dump(), **FIT, **changed})
    found = list(production_checks.run_checks(settings, environment or {}))
    assert all(not each.ok and each.next_action for each in found)
    return [each.check for each in found]


def test_settings_of_production_pass() -> None:
    assert find() == []


@pytest.mark.parametrize(("name", "value"), WRONG)
def test_a_value_of_the_demo_is_named(name: str, value: object) -> None:
    assert find(None, **{name: value}) == [f"BUILDERS_{name.upper()}"]


def test_each_finding_has_a_case() -> None:
    assert {name.upper() for name, _ in WRONG} == {*production_checks.TEXTS}


@pytest.mark.parametrize("url", ["postgresql:///builders", "host=/run/postgresql user=builders", "not: a url="])
def test_a_database_without_a_password_has_none_that_can_be_guessed(url: str) -> None:
    assert find(database_url=SecretStr(url)) == []


def test_a_secret_of_the_environment_is_named() -> None:
    given = {"BUILDERS_DATABASE_URL": "x", "builders_secret_keys": "x", "BUILDERS_PORT": "8000"}
    assert find(given) == ["BUILDERS_DATABASE_URL", "BUILDERS_SECRET_KEYS"]


def test_issuers_with_a_secret_are_one() -> None:
    signs_in = ISSUER.model_copy(update={"client_secret": SecretStr("w8Yk3Tq0")})
    given = {"BUILDERS_OIDC_ISSUERS": "x"}
    assert find(given, oidc_issuers=(signs_in,)) == ["BUILDERS_OIDC_ISSUERS"]
    assert find(given) == []


def named(command: Cli, *words: str) -> dict[str, bool]:
    result = command("doctor", "--json", *words)
    assert result.exit_code == 1
    return {each["check"]: each["ok"] for each in json.loads(result.stdout)}


def test_the_demo_is_found_in_the_database(builders: Cli) -> None:
    for email in ACCOUNTS:
        builders("accounts", "create", "--email", email)
    found = named(builders, "--production")
    assert found["demo accounts"] is False
    assert found["BUILDERS_BASE_URL"] is False
    assert "BUILDERS_BASE_URL" not in named_or_green(builders)


def named_or_green(command: Cli) -> dict[str, bool]:
    return {each["check"]: each["ok"] for each in json.loads(command("doctor", "--json").stdout)}
