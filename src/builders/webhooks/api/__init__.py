"""/v1/notifications: a file for each of destinations, deliveries and the catalog of events."""
