"""Public interface of webhooks."""

from builders.webhooks.batches import (
    MAX_DESTINATIONS as MAX_DESTINATIONS,
    create_destinations as create_destinations,
    delete_destinations as delete_destinations,
    list_managed as list_managed,
    reveal_secrets as reveal_secrets,
    update_destinations as update_destinations,
)
from builders.webhooks.catalog import (
    filter_destinations as filter_destinations,
    get_event as get_event,
    list_catalog as list_catalog,
)
from builders.webhooks.deliveries import (
    get_backlog as get_backlog,
    get_delivery_detail as get_delivery_detail,
    list_deliveries as list_deliveries,
    replay_deliveries as replay_deliveries,
    requeue_delivery as requeue_delivery,
    retry_delivery as retry_delivery,
)
from builders.webhooks.destinations import (
    clear_destinations as clear_destinations,
    count_destinations as count_destinations,
    create_destination as create_destination,
    delete_destination as delete_destination,
    get_destination as get_destination,
    list_destinations as list_destinations,
    rotate_secret as rotate_secret,
    update_destination as update_destination,
    validate_events as validate_events,
    validate_urls as validate_urls,
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
from builders.webhooks.feed import FeedPage as FeedPage, FeedWaiters as FeedWaiters, read_feed as read_feed
from builders.webhooks.records import (
    DestinationChange as DestinationChange,
    DestinationSpec as DestinationSpec,
    ManagedDestination as ManagedDestination,
    Simulation as Simulation,
    ValidatedUrls as ValidatedUrls,
)
from builders.webhooks.signing import reseal_secrets as reseal_secrets
from builders.webhooks.simulation import (
    MAX_SIMULATED as MAX_SIMULATED,
    send_test as send_test,
    send_tests as send_tests,
    simulate as simulate,
)
