-- Up Migration

-- For a drop rule: whether the rule is one of the cluster's default rules; null if that is unknown.
ALTER TABLE segments ADD COLUMN unused_by_default_rules boolean;
