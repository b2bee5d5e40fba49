-- Up Migration

-- The simulated time of the cluster, where it has one: what it was at a moment of the store's own clock, and how many
-- times as fast as that clock it goes on.
CREATE TABLE cluster_clock (
  singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton),
  time_ms double precision NOT NULL,
  rate double precision NOT NULL CHECK (rate >= 0),
  set_at timestamptz NOT NULL
);
