-- Up Migration

-- How fast servers loaded segments: sums over measurements.
CREATE TABLE load_rates (
  server text COLLATE "C" PRIMARY KEY,
  sums json NOT NULL,
  measured_at timestamptz NOT NULL DEFAULT now()
);
