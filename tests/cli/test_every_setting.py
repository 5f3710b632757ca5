"""Each setting is refused at the start when its value cannot work, and each variable that is no setting."""

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from builders.kit.process import names
from builders.kit.process.settings import Settings
from tests.cli.conftest import Cli

ROOT = Path(__file__).parents[2]
# Wrong values of each setting; () where any text is right.
WRONG: Mapping[str, Sequence[str]] = {
    "data_dir": ["/dev/null/data"],
    "database_url": ["mysql://db.example/builders", "postgresql://127.0.0.1:1/builders"],
    "database_pooled": ["perhaps", "true"],  # without the URL past the pooler
    "database_direct_url": ["db.example", "postgresql://127.0.0.1:1/builders"],
    "backup_s3_endpoint": ["s3.example"],
    "backup_s3_region": [],
    "backup_s3_key_id": [],
    "backup_s3_secret": [],
    "backup_to": ["s3://", "s3://bucket/prefix"],  # without a key; a folder is created
    "backup_loss_s": ["9", "3601"],
    "limits": ["0", "on"],
    "trusted_proxies": ["proxy", "10.0.0.0/40"],
    "host": ["300.0.0.1", "no.such.host.invalid"],
    "port": ["70000", "http"],
    "base_url": ["builders.example", "ftp://builders.example"],
    "secret_keys": ["short", "x" * 43],
    "key_cache_s": ["2"],
    "session_hours": ["0", "721"],
    "sign_up": ["perhaps"],
    "oidc_issuers": ["[", "{}", '[{"issuer": "https://id.example"}]'],
    "body_limit": ["1023"],
    "body_budget": ["1"],
    "pool_size": ["0", "201"],
    "pool_timeout_s": ["0", "31"],
    "statement_timeout_s": ["0"],
    "database_answer_timeout_s": ["0"],
    "lock_timeout_s": ["0"],
    "drain_s": ["-1", "301"],
    "worker_concurrency": ["0", "101"],
    "worker_slice_s": ["61"],
    "quarantine_days": ["-1"],
    "erased_name_days": ["364"],
    "cooling_off_hours": ["337"],
    "confirmations_per_day": ["0"],
    "machines_max_total": ["500", "many USD", "500 XXXX"],
    "smtp_url": [
        "mail.example",
        "mail.example:25",
        "http://mail.example",
        "smtp://mail.example:0x",
        "smtp://",
        "smtp://mail..example",
    ],
    "mail_from": ["Builders", "a b@mail.example", "mail@-.example"],
    "mail_reply_to": ["Builders", "mail@-.example"],
    "mail_bounces_to": ["Builders", "a-very-long-mailbox@mail.example"],
    "mail_tracking": ["perhaps"],
    "tracking_days": ["2"],
    "mail_days": ["89", "401"],
    "attempts_days": ["6", "91"],
    "audit_days": ["89", "3651"],
    "lander_origins": ["harbour.example", "https://harbour.example/path"],
    "dkim_selector": ["mail 2026", "mail._domainkey"],
    "dkim_domain": ["builders", "https://builders.example"],
    "dkim_key": ["/no/such/file", "-----BEGIN PRIVATE KEY-----"],
    "dns_resolvers": ["dns.example"],
    "mail_hosts": ["mx1"],
    "spf_include": ["_spf"],
    "outbound_allow": ["http://127.0.0.1:9000"],
    "outbound_ip": ["host.example"],
    "outbound_ca": ["/no/such/file", "/dev/null"],
    "lookup_listen": ["0.0.0.0:9470", "unix:lookup"],
    "filter_listen": ["9471"],
    "mail_log": ["/dev"],
    "postmaster": ["Hostmaster"],
    "security_contact": ["Security", "http://builders.example/security", "https://a b", "a@b.example\nc"],
    "metrics_host": [],  # it is tried where a port is set
    "metrics_port": ["http"],
    "traces_to": ["collector.example:4318", "ftp://collector.example"],
    "seller_name": ["x" * 121],
    "seller_address": ["a|b|c|d|e|f|g"],
    "seller_tax_id": ["x" * 41],
    "seller_bank": ["x" * 121],
    "tax_rate": ["101", "NaN"],
    "invoice_font": ["/no/such/file", "/dev/null"],
    "stripe_key": ["pk_live_1", "whsec_1", "sk_live_ü"],
    "stripe_webhook_secret": ["sk_live_1"],
    "stripe_api_base": ["api.stripe.com"],
    "exchange_rates": ["on", "ftp://rates.example"],
    "rdap": ["installed", "data.iana.org"],
    "log_level": ["loud"],
    "log_format": ["xml"],
}
OF_SERVE = {"host", "port", "data_dir", "secret_keys"}  # those that `worker` does not use, or uses later

# These name servers and disks, which can come back.
OF_MACHINES = {"database_url", "database_direct_url", "host", "data_dir"}


def test_each_setting_is_here() -> None:
    assert list(WRONG) == list(Settings.model_fields)


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in WRONG.items() for value in values])
def test_a_wrong_value_ends_the_start(
    builders: Cli, plain_environment: pytest.MonkeyPatch, name: str, value: str
) -> None:
    variable = f"BUILDERS_{name.upper()}"
    if name == "database_pooled":
        plain_environment.delenv("BUILDERS_DATABASE_URL")
    plain_environment.setenv("BUILDERS_PORT", "0")
    plain_environment.setenv("BUILDERS_DKIM_SELECTOR", "s1")
    plain_environment.setenv(variable, value)

    result = builders("serve" if name in OF_SERVE else "worker")

    status = 1 if name in OF_MACHINES else os.EX_CONFIG
    assert (result.exit_code, result.stdout) == (status, "")
    said = result.stderr.splitlines()
    told = {"data_dir": "BUILDERS_DATA_DIR", "host": value, "secret_keys": "secret key"}
    assert told.get(name, variable) in " ".join(said), said
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize("word", ["worker", "serve", "doctor", "migrate"])
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("BUILDERS_SMTP_UR", "Did you mean BUILDERS_SMTP_URL?"),
        ("builders_poolsize", "Did you mean BUILDERS_POOL_SIZE?"),
        ("BUILDERS_CELERY", "Unset it; docs/reference/settings.md lists the settings."),
    ],
)
def test_a_name_that_is_no_setting_is_refused(
    command: Cli, plain_environment: pytest.MonkeyPatch, word: str, name: str, said: str
) -> None:
    plain_environment.setenv(name, "1")
    result = command(word)
    assert result.exit_code == os.EX_CONFIG
    assert result.stderr == f"Error: {name}: no setting has this name. {said}\n"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("BUILDERS_CELERY", ""),  # an empty variable counts as not set
        ("BUILDERS_DB_SERVICE_HOST", "10.0.0.1"),
        ("BUILDERS_DB_SERVICE_PORT_HTTP", "80"),
        ("BUILDERS_DB_PORT", "tcp://10.0.0.1:5432"),
        ("BUILDERS_DB_PORT_5432_TCP_ADDR", "10.0.0.1"),
        ("BUILDERS_VENV", "/srv/venv"),
        ("BUILDERS_TEST_DATABASE_URL", "postgresql://db.example"),
    ],
)
def test_names_of_others_are_accepted(name: str, value: str) -> None:
    assert names.list_unknown({name: value}, settings=["BUILDERS_PORT"]) == []


def test_the_names_of_scripts_tests_and_clients_are_declared() -> None:
    files = [
        each
        for folder in ("script", "bench", "soak", "clients", "tests", "examples", ".ci")
        for each in (ROOT / folder).rglob("*")
        if each.is_file() and "node_modules" not in each.parts and each.name != Path(__file__).name
    ]
    found = {
        name
        for each in files
        for name in re.findall(
            r"(?:environ\S*[\[(]|getenv\(|process\.env\.|\$\{?|export )\"?(BUILDERS_[A-Z0-9_]+)",
            each.read_text(encoding="utf-8", errors="replace"),
        )
    }
    known = [f"BUILDERS_{each.upper()}" for each in Settings.model_fields]
    assert len(found) > len(known) // 4
    assert names.list_unknown(dict.fromkeys(found, "1"), settings=known) == []
