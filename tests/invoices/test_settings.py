"""Settings of the seller and of Stripe."""

from decimal import Decimal

import pytest
from pydantic import ValidationError

from builders.invoices.records import Seller
from builders.kit.process.settings import Settings


def test_the_settings_define_the_seller(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "SELLER_NAME": "Harbour Names Ltd",
        "SELLER_ADDRESS": "1 Quay Street | Port Town|",
        "SELLER_TAX_ID": "GB1",
        "SELLER_BANK": "Bank of Quay",
        "TAX_RATE": "8.875",
    }.items():
        monkeypatch.setenv(f"BUILDERS_{name}", value)
    assert Seller.of(Settings()) == Seller(
        name="Harbour Names Ltd",
        address=("1 Quay Street", "Port Town"),
        tax_id="GB1",
        bank="Bank of Quay",
        tax_rate=Decimal("8.875"),
    )


@pytest.mark.parametrize("rate", ["-1", "100.1", "1.23456", "NaN", "a fifth"])
def test_an_invalid_tax_rate_is_refused(monkeypatch: pytest.MonkeyPatch, rate: str) -> None:
    monkeypatch.setenv("BUILDERS_TAX_RATE", rate)
    with pytest.raises(ValidationError):
        Settings()


@pytest.mark.parametrize("name", ["BUILDERS_STRIPE_KEY", "BUILDERS_STRIPE_WEBHOOK_SECRET"])
@pytest.mark.parametrize("text", ["    ", "\u3164\u2800", "whsec_", "whsec_  "])
def test_a_secret_of_blanks_is_refused(monkeypatch: pytest.MonkeyPatch, name: str, text: str) -> None:
    monkeypatch.setenv(name, text)
    with pytest.raises(ValidationError, match="visible characters"):
        Settings()


def test_stripe_secrets_are_not_in_the_repr(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BUILDERS_STRIPE_KEY", "sk_live_secret")
    monkeypatch.setenv("BUILDERS_STRIPE_WEBHOOK_SECRET", "whsec_secret")
    assert "secret'" not in repr(Settings())
    assert "sk_live" not in repr(Settings())
