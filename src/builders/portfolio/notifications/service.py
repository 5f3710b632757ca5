"""The public interface of a portfolio's notifications."""

from builders.portfolio.notifications.event_kinds import (
    list_catalog as list_catalog,
)
from builders.portfolio.notifications.preferences import (
    change_preferences as change_preferences,
    get_preferences as get_preferences,
)
from builders.portfolio.notifications.samples import (
    send_sample as send_sample,
    send_samples as send_samples,
)
