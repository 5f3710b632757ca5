"""The door of webhooks."""

from uuid import UUID

from builders.webhooks import (
    applying,
    catalog,
    clearing,
    deliveries,
    destinations,
    errors,
    feed_waiters,
    managed,
    operating,
    requeue,
    resealing,
    resending,
    samples,
    simulating,
)
from builders.webhooks.feed import read_feed as read_feed

NOBODY = UUID(int=0)  # the id of no destination

create_destination = destinations.create
get_destination = destinations.get
list_destinations = destinations.list_page
change_destination = destinations.change
rotate_secret = destinations.rotate_secret
delete_destination = destinations.delete
reseal_secrets = resealing.reseal

list_deliveries = deliveries.list_page
get_delivery = deliveries.get_detail
retry_delivery = resending.retry
replay = resending.replay
requeue_delivery, look = requeue.retry, operating.look

list_catalog, get_event = catalog.list_catalog, catalog.get_event
send_sample, send_samples = samples.send, samples.send_many
clear, count_destinations = clearing.clear, clearing.count
simulate = simulating.simulate
Simulation = simulating.Simulation
FeedWaiters = feed_waiters.FeedWaiters
MOST_SIMULATED = simulating.MOST

# In sets, for manifests.
judge_urls, judge_events, list_managed = applying.judge_urls, applying.judge_events, applying.list_managed
create_many, update_many, delete_many = applying.create_many, applying.update_many, applying.delete_many
reveal_secrets = applying.reveal
Managed = managed.Managed
WebhookSpec = managed.WebhookSpec
WebhookChange = managed.WebhookChange
JudgedUrls = managed.JudgedUrls
WebhooksChanged = errors.WebhooksChanged
KeysTaken = errors.WebhookKeysTaken
WebhookLimit = errors.WebhookLimit
SecretsGone = errors.SecretsGone
MOST = applying.MOST

# What rooms above may pass on.
WebhookNotFound, TooManyTests = errors.WebhookNotFound, errors.TooManyTests
DeliveryInFlight = errors.DeliveryInFlight
