-- Up Migration

-- Finds old entries of all types without reading newer ones.
CREATE INDEX audit_by_age ON audit (created_at);
CREATE INDEX compaction_history_by_age ON compaction_history (created_at);
CREATE INDEX tasks_by_end ON tasks (finished_at) WHERE finished_at IS NOT NULL;
