-- Up Migration

-- The distinct lists of columns. Segments refer to them by number; null if the columns are unknown.
CREATE TABLE segment_schemas (
  id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  fingerprint text COLLATE "C" NOT NULL UNIQUE,
  columns json NOT NULL
);
ALTER TABLE segments ADD COLUMN schema_id integer;
