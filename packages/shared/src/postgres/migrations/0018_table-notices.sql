-- Up Migration

-- Reports the name of a table after changes to it, so that servers that follow the table need not look for changes.
CREATE FUNCTION notify_table_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('svc_tables', TG_TABLE_NAME);
  RETURN NULL;
END $$;
CREATE TRIGGER segments_notice AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON segments
  FOR EACH STATEMENT EXECUTE FUNCTION notify_table_change();
CREATE TRIGGER dynamic_configs_notice AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON dynamic_configs
  FOR EACH STATEMENT EXECUTE FUNCTION notify_table_change();
