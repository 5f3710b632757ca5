"""The door of the portfolio's notifications."""

from builders.portfolio.notifications.areas import (
    list_catalog as list_catalog,
)
from builders.portfolio.notifications.sampling import (
    send_sample as send_sample,
    send_samples as send_samples,
)
