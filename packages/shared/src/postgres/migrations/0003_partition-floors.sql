-- Up Migration

-- The highest partition number of deleted segments, by interval and version. It is never used again, because servers
-- may still have the files of the deleted segment.
CREATE TABLE partition_floors (
  datasource text COLLATE "C" NOT NULL,
  start_ms bigint NOT NULL,
  end_ms bigint NOT NULL,
  version text COLLATE "C" NOT NULL,
  partition_num integer NOT NULL,
  PRIMARY KEY (datasource, start_ms, end_ms, version)
);
CREATE OR REPLACE FUNCTION note_segment_removal() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO segment_removals (id) VALUES (OLD.id);
  INSERT INTO partition_floors AS floor (datasource, start_ms, end_ms, version, partition_num)
  VALUES (OLD.datasource, OLD.start_ms, OLD.end_ms, OLD.version, OLD.partition_num)
  ON CONFLICT (datasource, start_ms, end_ms, version)
  DO UPDATE SET partition_num = greatest(floor.partition_num, excluded.partition_num);
  RETURN OLD;
END $$;
