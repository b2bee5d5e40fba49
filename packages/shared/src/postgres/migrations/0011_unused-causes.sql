-- Up Migration

-- The audit entry of the last change of each rule list; null if the history has none.
ALTER TABLE rules ADD COLUMN audit_id bigint;
UPDATE rules SET audit_id = (SELECT max(id) FROM audit WHERE audit.type = 'rules' AND audit.key = rules.datasource);
-- The rules that a change replaced, as JSON text; null if unknown.
ALTER TABLE audit ADD COLUMN replaced text;

-- Why a segment is unused; null if unknown.
ALTER TABLE segments
  ADD COLUMN unused_cause text CHECK (unused_cause IN ('dropRule', 'overshadowed', 'request', 'task')),
  -- The drop rule as JSON, the version that overshadows the segment, the user who requested it, or the ID of the task.
  ADD COLUMN unused_detail text,
  -- With a drop rule: the audit IDs of the rule lists in effect (the datasource's and the cluster's); 0 without a list.
  ADD COLUMN unused_rules_id bigint,
  ADD COLUMN unused_default_rules_id bigint;
CREATE INDEX segments_unused ON segments (datasource, start_ms, id) WHERE NOT used;

-- How many segments kill tasks have deleted that a drop rule had marked as unused.
CREATE TABLE killed_segments (
  datasource text COLLATE "C" NOT NULL,
  start_ms bigint NOT NULL,
  end_ms bigint NOT NULL,
  rules_id bigint NOT NULL,
  default_rules_id bigint NOT NULL,
  segments integer NOT NULL,
  size_bytes bigint NOT NULL,
  PRIMARY KEY (datasource, start_ms, end_ms, rules_id, default_rules_id)
);
