-- Up Migration

-- The ID of the audit entry of the last change to each list of rules; null if there is no such entry.
ALTER TABLE rules ADD COLUMN audit_id bigint;
UPDATE rules SET audit_id = (SELECT max(id) FROM audit WHERE audit.type = 'rules' AND audit.key = rules.datasource);
-- What a rule change replaced, as JSON text; null if that is unknown.
ALTER TABLE audit ADD COLUMN replaced text;

-- Why a segment is unused; null if that is unknown.
ALTER TABLE segments
  ADD COLUMN unused_cause text CHECK (unused_cause IN ('dropRule', 'overshadowed', 'request', 'task')),
  -- The drop rule as JSON, the version that overshadows the segment, the user who requested it, or the ID of the task.
  ADD COLUMN unused_detail text,
  -- For a drop rule: the audit IDs of the rule lists of the datasource and of the cluster that applied; 0 if there is no ID.
  ADD COLUMN unused_rules_id bigint,
  ADD COLUMN unused_default_rules_id bigint;
CREATE INDEX segments_unused ON segments (datasource, start_ms, id) WHERE NOT used;

-- Number of segments that a drop rule marked as unused and that kill tasks have deleted.
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
