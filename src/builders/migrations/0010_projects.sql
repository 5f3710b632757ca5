-- works with: 1.0.0
-- run: before

-- Projects of builders: the settings that a set of names shares, and their maximum.

CREATE TABLE projects (
    account_id uuid NOT NULL,
    id uuid NOT NULL,
    name text NOT NULL,
    slug text NOT NULL,
    description text,
    website text,
    allowed_domains text[] NOT NULL DEFAULT '{}', -- A-labels; empty: all
    default_destination text,
    webhook_ids uuid[] NOT NULL DEFAULT '{}',
    alias_limit int CHECK (alias_limit > 0), -- null: no maximum
    metadata jsonb NOT NULL DEFAULT '{}',
    manifest text, -- name of the manifest that manages it, and its key there
    manifest_key text,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    archived_at timestamptz, -- null while active
    version int NOT NULL DEFAULT 1,
    -- An archived project keeps its slug, and another project may take it.
    active_slug text GENERATED ALWAYS AS (CASE WHEN archived_at IS NULL THEN slug END) STORED,
    PRIMARY KEY (account_id, id),
    -- Both are checked at the end of a statement, so that one update can swap two; a partial unique index cannot wait.
    CONSTRAINT projects_by_slug UNIQUE (account_id, active_slug) DEFERRABLE INITIALLY IMMEDIATE,
    CONSTRAINT projects_by_manifest UNIQUE (account_id, manifest, manifest_key) DEFERRABLE INITIALLY IMMEDIATE,
    CHECK ((manifest IS NULL) = (manifest_key IS NULL)),
    CHECK (archived_at IS NULL OR manifest IS NULL)
);
-- The list of the active ones; the primary key serves the list of all.
CREATE INDEX projects_active ON projects (account_id, id) WHERE archived_at IS NULL;
CREATE INDEX projects_slugs ON projects (account_id, slug); -- of archived ones, too
