-- The catalog: reference data of the vendor, the same for all accounts.

-- Every change takes the next serial under one lock, so serials are visible in their order: a process that has read
-- up to serial n misses nothing by asking for what is above n. Rows are never deleted, a retired domain is a change.
CREATE SEQUENCE catalog_serial;

CREATE TABLE catalog_categories (
    slug text PRIMARY KEY CHECK (slug ~ '^[a-z0-9-]{2,40}$'),
    name text NOT NULL,
    description text NOT NULL,
    position int NOT NULL,
    parent text REFERENCES catalog_categories (slug),
    serial bigint NOT NULL DEFAULT nextval('catalog_serial')
);

INSERT INTO catalog_categories (position, slug, name, description) VALUES
    (1, 'tech', 'Technology', 'Machines, networks and what runs on them.'),
    (2, 'developer', 'Developers', 'For people who write software.'),
    (3, 'design', 'Design', 'Type, colour, form and the people who care.'),
    (4, 'creator', 'Creators', 'Channels, newsletters, podcasts and their makers.'),
    (5, 'gaming', 'Gaming', 'Players, studios and tournaments.'),
    (6, 'music', 'Music', 'Bands, labels, listeners.'),
    (7, 'food', 'Food', 'Kitchens, cafés and good appetites.'),
    (8, 'travel', 'Travel', 'Journeys, and those who arrange them.'),
    (9, 'fitness', 'Fitness', 'Sport, training and health.'),
    (10, 'finance', 'Finance', 'Money and those who look after it.'),
    (11, 'business', 'Business', 'Firms, freelancers and offices.'),
    (12, 'education', 'Education', 'Schools, courses and the curious.'),
    (13, 'nature', 'Nature', 'Gardens, animals and the open air.'),
    (14, 'family', 'Family', 'One address for everyone at home.'),
    (15, 'fun', 'Fun', 'Not to be taken seriously.'),
    (16, 'short', 'Short', 'Few letters, quickly typed.');

CREATE TABLE catalog_domains (
    id uuid PRIMARY KEY,
    domain text NOT NULL UNIQUE, -- A-label, lower case
    title text NOT NULL,
    tagline text NOT NULL,
    description text NOT NULL,
    categories text[] NOT NULL, -- slugs, the main one first
    tags text[] NOT NULL,
    status text NOT NULL CHECK (status IN ('live', 'coming_soon', 'paused', 'retired')),
    mail_mode text NOT NULL CHECK (mail_mode IN ('mailbox', 'alias', 'both')),
    catch_all boolean NOT NULL,
    price_amount numeric(12, 3) NOT NULL CHECK (price_amount >= 0),
    price_currency char(3) NOT NULL,
    price_interval text NOT NULL CHECK (price_interval IN ('month', 'year', 'once')),
    price_tier text NOT NULL CHECK (price_tier IN ('standard', 'plus', 'premium')),
    short_name_prices jsonb NOT NULL, -- [{"max_len": 3, "amount": "60.00"}], by max_len, in the price's currency
    min_local_length smallint NOT NULL CHECK (min_local_length BETWEEN 1 AND 10),
    separator_policy text NOT NULL CHECK (separator_policy IN ('ignore_dots', 'ignore_all', 'distinct')),
    featured boolean NOT NULL,
    rank int NOT NULL, -- higher is shown earlier
    logo jsonb NOT NULL, -- {"filename", "width", "height"} of an asset, or {}
    cover jsonb NOT NULL,
    icon jsonb NOT NULL,
    serial bigint NOT NULL UNIQUE,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL
);
