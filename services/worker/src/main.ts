import { runService, type ServiceContext, type ServicePart } from '@svc/shared/service'
import { createTaskRunner, registerTaskRunnerMetrics } from '@svc/shared/task-running'

/** A server that only runs tasks. It adds task slots to those of the overlords. */
function buildWorker(context: ServiceContext): ServicePart {
  const { settings, metrics } = context
  const runner = createTaskRunner(context, {
    allowedRoots: settings.get('svc.ingestion.local.allowedRoots'),
    allowedHosts: settings.get('svc.ingestion.http.allowedHosts'),
  })
  registerTaskRunnerMetrics(metrics, runner)
  return {
    routes: [],
    details: { workerCapacity: runner.capacity },
    start: runner.start,
    stop: runner.stop,
  }
}

await runService('worker', { connections: 4 }, buildWorker)
