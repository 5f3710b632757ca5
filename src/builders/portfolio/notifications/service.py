"""The public interface of a portfolio's notifications."""

from builders.portfolio.notifications.delivery import (
    deliver as deliver,
    list_due_accounts as list_due_accounts,
)
from builders.portfolio.notifications.event_kinds import (
    list_catalog as list_catalog,
)
from builders.portfolio.notifications.inbox import (
    acknowledge as acknowledge,
    delete_member as delete_member,
    list_notices as list_notices,
    mark_read as mark_read,
    prune_notices as prune_notices,
)
from builders.portfolio.notifications.notices import (
    notify_of_events as notify_of_events,
    notify_of_expiry as notify_of_expiry,
)
from builders.portfolio.notifications.preferences import (
    change_preferences as change_preferences,
    get_preferences as get_preferences,
)
from builders.portfolio.notifications.runs import (
    Progress as Progress,
    list_portfolios as list_portfolios,
    run as run,
)
from builders.portfolio.notifications.samples import (
    send_sample as send_sample,
    send_samples as send_samples,
)
