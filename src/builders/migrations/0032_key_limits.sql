-- API keys that end and keys that work from some networks only; sign-in tries by client network.

-- expires_at is when the key ends, also by a rotation; asked_expires_at is what was asked for, which rotation keeps.
ALTER TABLE identity_keys
    ADD COLUMN asked_expires_at timestamptz,
    ADD COLUMN allowed_ips cidr[] CHECK (cardinality(allowed_ips) BETWEEN 1 AND 50),
    ADD COLUMN refusal_noted_at timestamptz;

-- requested_from is the network of the client that asked; tries_from counts wrong codes by network.
ALTER TABLE identity_sign_ins
    ADD COLUMN requested_from text NOT NULL DEFAULT '',
    ADD COLUMN tries_from jsonb NOT NULL DEFAULT '{}';
