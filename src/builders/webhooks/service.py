"""The door of webhooks."""

from uuid import UUID

from builders.webhooks import (
    catalog,
    deliveries,
    destinations,
    errors,
    operating,
    requeue,
    resealing,
    resending,
    samples,
)

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

# What rooms above may pass on.
WebhookNotFound, TooManyTests = errors.WebhookNotFound, errors.TooManyTests
DeliveryInFlight = errors.DeliveryInFlight
