-- Up Migration

-- Which columns segments have, each list once. A segment names its own by the number; null where that is not known.
CREATE TABLE segment_schemas (
  id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  fingerprint text COLLATE "C" NOT NULL UNIQUE,
  columns json NOT NULL
);
ALTER TABLE segments ADD COLUMN schema_id integer;
