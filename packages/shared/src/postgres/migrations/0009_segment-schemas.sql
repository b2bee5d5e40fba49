-- Up Migration

-- The lists of columns of segments, each stored once. Segments refer to their list by its ID; null if it is unknown.
CREATE TABLE segment_schemas (
  id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  fingerprint text COLLATE "C" NOT NULL UNIQUE,
  columns json NOT NULL
);
ALTER TABLE segments ADD COLUMN schema_id integer;
