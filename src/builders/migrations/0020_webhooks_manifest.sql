-- Webhook destinations that a manifest manages.

ALTER TABLE webhooks_destinations
    ADD COLUMN manifest text, -- its name
    ADD COLUMN manifest_key text,
    -- A promotion made the secret, and nobody was shown it yet: whoever clears this may show it.
    ADD COLUMN secret_unseen boolean NOT NULL DEFAULT false,
    ADD CONSTRAINT webhooks_destinations_by_manifest UNIQUE (account_id, manifest, manifest_key)
        DEFERRABLE INITIALLY IMMEDIATE,
    ADD CHECK ((manifest IS NULL) = (manifest_key IS NULL));
