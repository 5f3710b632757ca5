"""How we talk to Stripe: its package, over our own HTTP client; and how a webhook of its own is believed."""

from collections.abc import Mapping
from typing import Any, NoReturn

import stripe
from pydantic_core import from_json
from stripe.checkout import Session

from builders.invoices.errors import (
    EventMalformed,
    SignatureInvalid,
    StripeAway,
    StripeNotConfigured,
    StripeRefused,
)
from builders.kit.outbound.client import Outbound, OutboundFailed
from builders.kit.process import log
from builders.kit.process.settings import Settings
from builders.kit.values.money import Money, decimals_of

TOTAL_S = 20.0
MOST_ANSWER = 512 * 1024  # bytes
TOLERANCE_S = 300  # between a webhook's signature and its arrival
LONGEST_ID = 255  # characters of an id or a type
RETRY_AFTER_S = 5
# What is sent along; the package would also tell Stripe of the machine it runs on.
_SENT = frozenset({"authorization", "content-type", "stripe-version", "idempotency-key"})
# Currencies whose amounts Stripe writes with other decimals than ISO 4217 (docs.stripe.com/currencies).
_DECIMALS = {"ISK": 2, "UGX": 2, "MGA": 0}
_LATER = {409, 429}  # the same request is on its way, or too many are: the key stays good
_log = log.get_logger()

stripe.enable_telemetry = False


class _Carrier(stripe.HTTPClient):
    """Carries the package's requests by the only HTTP client of the service."""

    name = "builders"

    def __init__(self, outbound: Outbound) -> None:
        super().__init__()
        self._outbound = outbound

    async def request_async(
        self, method: str, url: str, headers: Mapping[str, str], post_data: Any = None
    ) -> tuple[bytes, int, Mapping[str, str]]:
        """One request. Raises APIConnectionError."""
        try:
            answer = await self._outbound.request(
                method.upper(),
                url,
                headers={name: value for name, value in headers.items() if name.lower() in _SENT},
                body=post_data.encode() if isinstance(post_data, str) else post_data,
                total_s=TOTAL_S,
                max_bytes=MOST_ANSWER,
            )
        except OutboundFailed as error:
            raise stripe.APIConnectionError(str(error)) from error  # type: ignore[no-untyped-call] # it has no types
        return answer.body, answer.status, answer.headers

    async def close_async(self) -> None:
        """Nothing: the client is the process's."""


def is_configured(settings: Settings) -> bool:
    """Whether links to pay by can be had."""
    return settings.stripe_key is not None


async def create_session(
    outbound: Outbound, *, settings: Settings, params: Mapping[str, Any], idempotency_key: str
) -> Session:
    """A page at Stripe to pay on; the same key gives the same one.

    Raises StripeNotConfigured, StripeAway when it is not known whether there is one now, StripeRefused.
    """
    if settings.stripe_key is None:
        raise StripeNotConfigured("This service takes no payments by link; pay by bank transfer.")
    client = stripe.StripeClient(
        settings.stripe_key.get_secret_value(),
        http_client=_Carrier(outbound),
        base_addresses={"api": settings.stripe_api_base},
        max_network_retries=0,
    )
    try:
        return await client.v1.checkout.sessions.create_async(
            params,  # type: ignore[arg-type] # a mapping of the form of its TypedDict
            {"idempotency_key": idempotency_key},
        )
    except stripe.StripeError as error:
        _refuse(error)


def _refuse(error: stripe.StripeError) -> NoReturn:
    """Says in our words what Stripe said; its own go to the log, since they are for the operator."""
    _log.warning(
        "stripe_failed", error=type(error).__name__, status=error.http_status, code=error.code, said=str(error)
    )
    if isinstance(error, stripe.APIConnectionError) or error.http_status in _LATER:
        raise StripeAway(
            "Stripe did not answer; nothing was charged. Ask again, or pay by bank transfer.",
            retry_after=RETRY_AFTER_S,
        ) from error
    raise StripeRefused(
        "Stripe refused to make a link; nothing was charged. Pay by bank transfer, or ask the vendor.",
        stripe_status=error.http_status,
        stripe_code=error.code,
        stripe_request_id=error.request_id,
    ) from error


def read_event(payload: bytes, *, signature: str | None, settings: Settings) -> dict[str, Any]:
    """Return the event of a webhook that Stripe has signed: a JSON object with an id and a type.

    Raises SignatureInvalid, EventMalformed.
    """
    if settings.stripe_webhook_secret is None:
        raise SignatureInvalid("Nothing is believed: BUILDERS_STRIPE_WEBHOOK_SECRET is not set here.")
    secret = settings.stripe_webhook_secret.get_secret_value()
    if signature is None or not signature.isascii():
        raise SignatureInvalid("The header Stripe-Signature is missing, or is none.")
    try:
        stripe.WebhookSignature.verify_header(payload, signature, secret, TOLERANCE_S)
    except (stripe.SignatureVerificationError, ValueError) as error:
        raise SignatureInvalid("The body was not signed by Stripe, or too long ago.") from error
    try:
        event = from_json(payload, allow_inf_nan=False)
    except ValueError as error:
        raise _malformed("It is not JSON.") from error
    if not isinstance(event, dict) or not all(_is_name(event.get(name)) for name in ("id", "type")):
        raise _malformed("It has no id or no type.")
    return event


def _is_name(value: object) -> bool:
    return isinstance(value, str) and 0 < len(value) <= LONGEST_ID and value.isprintable()


def _malformed(why: str) -> EventMalformed:
    _log.error("stripe_event_malformed", why=why)
    return EventMalformed(f"The body is signed, but is no event of Stripe: {why}")


def minor_units(amount: Money) -> int | None:
    """The amount as Stripe writes it, in its smallest unit of the currency; None when it is finer than that."""
    places = _DECIMALS.get(amount.currency, decimals_of(amount.currency))
    units = amount.quantized().amount.scaleb(places)
    whole = int(units)
    return whole if whole == units else None


def is_of_other_mode(event: Mapping[str, Any], *, settings: Settings) -> bool:
    """Whether the event tells of test money and our key takes real money, or the other way round."""
    key = "" if settings.stripe_key is None else settings.stripe_key.get_secret_value()
    return key[2:8] == ("_test_" if event.get("livemode") is True else "_live_")  # as in rk_live_…
