-- works with: 1.0.0
-- run: before

-- The span that published an event (W3C `traceparent`), to which those of its jobs and deliveries are linked.
ALTER TABLE kit_outbox ADD COLUMN traceparent text;
ALTER TABLE webhooks_payloads ADD COLUMN traceparent text;
