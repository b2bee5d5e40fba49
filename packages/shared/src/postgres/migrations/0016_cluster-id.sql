-- Up Migration

-- Identifies the cluster, for example in saved plans. Backups and copies of the store keep the ID.
CREATE TABLE cluster_identity (
  singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton),
  id uuid NOT NULL DEFAULT gen_random_uuid()
);
INSERT INTO cluster_identity DEFAULT VALUES;
