-- The request that published an event, for the log lines of its deliveries.
ALTER TABLE webhooks_payloads ADD COLUMN request_id text;
