-- Up Migration

-- Reports the datasource of a task that is created, starts, starts to wait, or ends. Renewed claims are not reported.
CREATE FUNCTION notify_task_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('svc_tasks', NEW.datasource);
  RETURN NULL;
END $$;
CREATE TRIGGER tasks_notice AFTER INSERT OR UPDATE OF state, attempt, waiting ON tasks
  FOR EACH ROW EXECUTE FUNCTION notify_task_change();
