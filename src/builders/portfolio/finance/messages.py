"""The messages of warnings about figures and renewals."""

from collections.abc import Mapping

from builders.portfolio.finance.calculation import FigureWarning
from builders.portfolio.finance.records import RenewalNotice

# The member that a warning is about, and its sentence.
MESSAGES: Mapping[FigureWarning | RenewalNotice, tuple[str, str]] = {
    FigureWarning.SHORT_HOLDING: (
        "annualized_roi",
        "Held for less than 30 days: annual rates are not meaningful.",
    ),
    FigureWarning.UNCONVERTED_ENTRIES: (
        "unconverted",
        "Entries in {currencies} have no exchange rate: the figures exclude them. Set rates of your own.",
    ),
    FigureWarning.OWN_RATES: ("fx_source", "Entries in {currencies} are converted at rates of your own."),
    FigureWarning.UNCONVERTED_PRICES: ("recommendation", "A price of the domain has no exchange rate."),
    FigureWarning.UNKNOWN_START: ("holding_days", "The start of the holding is unknown."),
    FigureWarning.SEVERAL_RETURNS: (
        "xirr",
        "The payments have several rates of return: this is the one nearest to the annualised return.",
    ),
    FigureWarning.DISTANT_ENTRIES: (
        "entries",
        "An entry is dated more than ten years ahead: check its date. It counts from that day on.",
    ),
    FigureWarning.OVERDUE_INSTALLMENTS: (
        "sale.installments",
        "The day of an instalment has passed: it counts when you send its `received_on`.",
    ),
    RenewalNotice.LIKELY_DUPLICATE: ("duplicate_of", "An earlier entry is likely the same renewal."),
    RenewalNotice.EXPIRY_UNKNOWN: ("new_expires_at", "The expiry of the domain is unknown and did not change."),
    RenewalNotice.EXPIRY_CAPPED: (
        "years",
        "The expiry was extended by less: a registration lasts 10 years at most.",
    ),
    RenewalNotice.EXPIRY_EARLIER: ("new_expires_at", "The new expiry is before the previous one."),
}
