-- Up Migration

-- Which kill tasks have deleted segments of an interval and version.
CREATE TABLE segment_kills (
  datasource text COLLATE "C" NOT NULL,
  start_ms bigint NOT NULL,
  end_ms bigint NOT NULL,
  version text COLLATE "C" NOT NULL,
  task_id text COLLATE "C" NOT NULL REFERENCES tasks ON DELETE CASCADE,
  PRIMARY KEY (datasource, start_ms, end_ms, version, task_id)
);
CREATE INDEX segment_kills_by_task ON segment_kills (task_id);
