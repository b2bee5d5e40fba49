-- Up Migration

-- Reports new audit entries, so that pages that show them need not look for them.
CREATE FUNCTION notify_audit() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('svc_topics', 'audit');
  RETURN NULL;
END $$;
CREATE TRIGGER audit_notice AFTER INSERT ON audit FOR EACH STATEMENT EXECUTE FUNCTION notify_audit();
