-- Up Migration

-- The parts of compact tasks that compaction planning reads. They are separate from the payload, which may be long, and
-- which Postgres cannot parse if a string contains NUL or half of a surrogate pair.
ALTER TABLE tasks ADD COLUMN compaction_interval text, ADD COLUMN compaction_origin json;
UPDATE tasks SET compaction_interval = payload #>> '{ioConfig,inputSpec,interval}', compaction_origin = payload #> '{context,compaction}'
WHERE type = 'compact' AND payload::text !~ '(^|[^\\])(\\\\)*\\u(0000|[dD][89a-fA-F])';
