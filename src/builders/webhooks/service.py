"""The door of webhooks."""

from builders.webhooks.applying import (
    MOST as MOST,
    create_many as create_many,
    delete_many as delete_many,
    judge_events as judge_events,
    judge_urls as judge_urls,
    list_managed as list_managed,
    reveal_secrets as reveal_secrets,
    update_many as update_many,
)
from builders.webhooks.catalog import (
    get_event as get_event,
    list_catalog as list_catalog,
)
from builders.webhooks.clearing import (
    clear as clear,
    count_destinations as count_destinations,
)
from builders.webhooks.deliveries import (
    get_delivery as get_delivery,
    list_deliveries as list_deliveries,
)
from builders.webhooks.destinations import (
    change_destination as change_destination,
    create_destination as create_destination,
    delete_destination as delete_destination,
    get_destination as get_destination,
    list_destinations as list_destinations,
    rotate_secret as rotate_secret,
)
from builders.webhooks.errors import (
    DeliveryInFlight as DeliveryInFlight,
    SecretsGone as SecretsGone,
    TooManyTests as TooManyTests,
    WebhookKeysTaken as WebhookKeysTaken,
    WebhookLimit as WebhookLimit,
    WebhookNotFound as WebhookNotFound,
    WebhooksChanged as WebhooksChanged,
)
from builders.webhooks.feed import read_feed as read_feed
from builders.webhooks.feed_waiters import (
    FeedWaiters as FeedWaiters,
)
from builders.webhooks.managed import (
    JudgedUrls as JudgedUrls,
    Managed as Managed,
    WebhookChange as WebhookChange,
    WebhookSpec as WebhookSpec,
)
from builders.webhooks.operating import (
    look as look,
)
from builders.webhooks.requeue import (
    requeue_delivery as requeue_delivery,
)
from builders.webhooks.resealing import (
    reseal_secrets as reseal_secrets,
)
from builders.webhooks.resending import (
    replay as replay,
    retry_delivery as retry_delivery,
)
from builders.webhooks.samples import (
    send_sample as send_sample,
    send_samples as send_samples,
)
from builders.webhooks.simulating import (
    MOST_SIMULATED as MOST_SIMULATED,
    Simulation as Simulation,
    simulate as simulate,
)


# In sets, for manifests.

# What rooms above may pass on.
