-- Up Migration

-- One row per segment. Times are epoch milliseconds. Eternity is from the minimum to the maximum bigint.
CREATE TABLE segments (
  id text COLLATE "C" PRIMARY KEY,
  datasource text COLLATE "C" NOT NULL,
  start_ms bigint NOT NULL,
  end_ms bigint NOT NULL,
  version text COLLATE "C" NOT NULL,
  partition_num integer NOT NULL,
  partitions integer NOT NULL,
  size_bytes bigint NOT NULL,
  total_rows bigint NOT NULL,
  used boolean NOT NULL,
  created_at timestamptz NOT NULL,
  used_changed_at timestamptz NOT NULL,
  task_id text,
  payload json NOT NULL,
  -- The last transaction that wrote the row. Readers request the rows that none of their earlier snapshots could see.
  changed_in xid8 NOT NULL DEFAULT pg_current_xact_id(),
  CHECK (start_ms < end_ms)
);
CREATE INDEX segments_changed_in ON segments (changed_in);
CREATE INDEX segments_by_interval ON segments (datasource, start_ms, end_ms);

CREATE FUNCTION stamp_changed_in() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.changed_in := pg_current_xact_id();
  RETURN NEW;
END $$;
CREATE TRIGGER segments_stamp BEFORE UPDATE ON segments FOR EACH ROW EXECUTE FUNCTION stamp_changed_in();

-- Deleted rows, for readers that follow the changes.
CREATE TABLE segment_removals (
  id text COLLATE "C" NOT NULL,
  removed_at timestamptz NOT NULL DEFAULT now(),
  changed_in xid8 NOT NULL DEFAULT pg_current_xact_id()
);
CREATE INDEX segment_removals_changed_in ON segment_removals (changed_in);
CREATE FUNCTION note_segment_removal() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO segment_removals (id) VALUES (OLD.id);
  RETURN OLD;
END $$;
CREATE TRIGGER segments_removal AFTER DELETE ON segments FOR EACH ROW EXECUTE FUNCTION note_segment_removal();

-- Rules in the text form that was stored, so that responses and audit entries keep the order of keys.
CREATE TABLE rules (
  datasource text COLLATE "C" PRIMARY KEY,
  rules text NOT NULL,
  changed_in xid8 NOT NULL DEFAULT pg_current_xact_id()
);
CREATE TRIGGER rules_stamp BEFORE UPDATE ON rules FOR EACH ROW EXECUTE FUNCTION stamp_changed_in();

CREATE TABLE dynamic_configs (
  name text PRIMARY KEY,
  value text NOT NULL,
  revision bigint NOT NULL DEFAULT 1
);

CREATE TABLE audit (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  type text NOT NULL,
  key text NOT NULL,
  author text NOT NULL,
  comment text NOT NULL,
  identity text NOT NULL,
  ip text NOT NULL,
  payload text NOT NULL,
  created_at timestamptz NOT NULL
);
CREATE INDEX audit_by_key ON audit (type, key, id);
CREATE INDEX audit_by_time ON audit (type, created_at);

CREATE TABLE tasks (
  id text COLLATE "C" PRIMARY KEY,
  group_id text NOT NULL,
  type text NOT NULL,
  datasource text COLLATE "C" NOT NULL,
  priority integer NOT NULL,
  payload json NOT NULL,
  created_at timestamptz NOT NULL,
  submitted_by text NOT NULL,
  -- PENDING until a worker claims the task, then RUNNING, and finally SUCCESS or FAILED.
  state text NOT NULL CHECK (state IN ('PENDING', 'RUNNING', 'SUCCESS', 'FAILED')),
  -- Each claim increments this number. Only the newest attempt may publish or finish.
  attempt integer NOT NULL DEFAULT 0,
  worker text,
  worker_host text,
  worker_port integer,
  worker_tls_port integer,
  claimed_until timestamptz,
  started_at timestamptz,
  finished_at timestamptz,
  duration_ms bigint,
  progress json,
  error_message text
);
CREATE INDEX tasks_unfinished ON tasks (created_at) WHERE state IN ('PENDING', 'RUNNING');
CREATE INDEX tasks_by_time ON tasks (created_at DESC);
CREATE INDEX tasks_by_datasource ON tasks (datasource, created_at DESC);

CREATE TABLE nodes (
  name text NOT NULL,
  role text NOT NULL,
  service text NOT NULL,
  host text NOT NULL,
  plaintext_port integer,
  tls_port integer,
  -- What a server reports in addition to its address, such as the task slots of a worker.
  details json NOT NULL,
  started_at timestamptz NOT NULL DEFAULT now(),
  heartbeat_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (role, name)
);

CREATE TABLE leader_leases (
  role text PRIMARY KEY,
  holder text NOT NULL,
  node text NOT NULL,
  base_url text NOT NULL,
  -- The fencing token. Each new leader increments it.
  term bigint NOT NULL,
  expires_at timestamptz NOT NULL
);

CREATE TABLE authentication_users (
  authenticator text NOT NULL,
  name text COLLATE "C" NOT NULL,
  credentials json,
  position bigint GENERATED ALWAYS AS IDENTITY,
  PRIMARY KEY (authenticator, name)
);
CREATE TABLE authorization_users (
  authorizer text NOT NULL,
  name text COLLATE "C" NOT NULL,
  position bigint GENERATED ALWAYS AS IDENTITY,
  PRIMARY KEY (authorizer, name)
);
CREATE TABLE authorization_roles (
  authorizer text NOT NULL,
  name text COLLATE "C" NOT NULL,
  permissions json NOT NULL,
  position bigint GENERATED ALWAYS AS IDENTITY,
  PRIMARY KEY (authorizer, name)
);
CREATE TABLE authorization_user_roles (
  authorizer text NOT NULL,
  user_name text COLLATE "C" NOT NULL,
  role_name text COLLATE "C" NOT NULL,
  position bigint GENERATED ALWAYS AS IDENTITY,
  PRIMARY KEY (authorizer, user_name, role_name),
  FOREIGN KEY (authorizer, user_name) REFERENCES authorization_users ON DELETE CASCADE,
  FOREIGN KEY (authorizer, role_name) REFERENCES authorization_roles ON DELETE CASCADE
);
-- Authenticators and authorizers whose initial users were created. If such a user is deleted, it is not created again.
CREATE TABLE security_initialized (
  kind text NOT NULL,
  name text NOT NULL,
  PRIMARY KEY (kind, name)
);
CREATE TABLE security_version (
  singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton),
  version bigint NOT NULL
);
INSERT INTO security_version (version) VALUES (1);
