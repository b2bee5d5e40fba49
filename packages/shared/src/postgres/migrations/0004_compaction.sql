-- Up Migration

-- The distinct compaction states. Segments refer to them by number.
CREATE TABLE compaction_states (
  id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  fingerprint text COLLATE "C" NOT NULL UNIQUE,
  datasource text COLLATE "C" NOT NULL,
  state json NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now()
);
ALTER TABLE segments ADD COLUMN compaction_state integer;

-- Configurations of the coordinator's compaction duty, in the text form that responses show.
CREATE TABLE compaction_configs (
  datasource text COLLATE "C" PRIMARY KEY,
  config text NOT NULL
);

-- All versions of all supervisors. The newest version applies; a version of type noop terminates the supervisor.
CREATE TABLE supervisors (
  version bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id text COLLATE "C" NOT NULL,
  datasource text COLLATE "C" NOT NULL,
  spec text NOT NULL,
  created_at timestamptz NOT NULL
);
CREATE INDEX supervisors_by_id ON supervisors (id, version);

-- The compaction configuration that applied to a datasource after each change of its own or the cluster's configuration.
CREATE TABLE compaction_history (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  datasource text COLLATE "C" NOT NULL,
  of_supervisor boolean NOT NULL,
  global_config text NOT NULL,
  -- Null if the configuration was removed.
  config text,
  author text NOT NULL,
  comment text NOT NULL,
  identity text NOT NULL,
  ip text NOT NULL,
  created_at timestamptz NOT NULL
);
CREATE INDEX compaction_history_by_datasource ON compaction_history (datasource, of_supervisor, id);

-- Intervals that running tasks have locked.
CREATE TABLE task_locks (
  task_id text COLLATE "C" PRIMARY KEY REFERENCES tasks ON DELETE CASCADE,
  datasource text COLLATE "C" NOT NULL,
  start_ms bigint NOT NULL,
  end_ms bigint NOT NULL,
  priority integer NOT NULL
);
CREATE INDEX task_locks_by_datasource ON task_locks (datasource, start_ms);
-- Whether a lock or a limit prevented a pending task from running when it was last checked.
ALTER TABLE tasks ADD COLUMN waiting boolean NOT NULL DEFAULT false;
