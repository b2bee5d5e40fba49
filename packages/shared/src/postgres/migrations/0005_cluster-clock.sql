-- Up Migration

-- The simulated time of the cluster, if it has one: the time at one moment of the store's own clock, and how many times
-- faster than that clock it passes.
CREATE TABLE cluster_clock (
  singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton),
  time_ms double precision NOT NULL,
  rate double precision NOT NULL CHECK (rate >= 0),
  set_at timestamptz NOT NULL
);
