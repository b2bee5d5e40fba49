import type { VirtualServerGroup } from '@svc/shared/config'
import { type RequestReceiver, receiveRequests } from '@svc/shared/redis'
import { type Loop, startLoop } from '@svc/shared/runtime'
import { type ServedList, startReporter, startStandbyReports } from '@svc/shared/segment-serving'
import type { ServiceContext } from '@svc/shared/service'
import { VirtualCluster } from './virtual-cluster.ts'
import { createVirtualLoading } from './virtual-loading.ts'
import { readPlacement, writePlacement } from './virtual-placement.ts'
import { createStandbyReports, createVirtualReports } from './virtual-reports.ts'

/** Virtual servers for simulations, which exist only in this process. They store no data, but take as long as real ones. */
export interface VirtualServers {
  /** The segments that at least one virtual historical serves, for servers that follow this process. */
  readonly served: ServedList
  groups(): readonly VirtualServerGroup[]
  /**
   * Replaces the virtual servers. Servers whose group is unchanged keep their segments; others are created or removed.
   * Resolves once the leader knows all of them.
   */
  replace(groups: readonly VirtualServerGroup[]): Promise<void>
  start(): Promise<void>
  stop(): Promise<void>
}

type Context = Pick<
  ServiceContext,
  'client' | 'discovery' | 'faults' | 'logger' | 'node' | 'settings' | 'stopping'
>

// How often to check the servers for finished loads and due reports.
const workPeriodMs = 50

/** Creates the virtual servers of `svc.simulation.virtualServers`. Servers without names are named after this process. */
export function createVirtualServers(context: Context): VirtualServers {
  const { settings, logger, faults } = context
  const cluster = new VirtualCluster()
  const loading = createVirtualLoading(cluster, faults)
  const report = createVirtualReports(cluster, context)
  let receiver: RequestReceiver | undefined
  let worker: Loop | undefined
  let reporter: Loop | undefined
  let standbyReporter: Loop | undefined
  let known = Promise.withResolvers<void>()
  const placementFile = settings.get('svc.simulation.placementFile')

  return {
    served: cluster.served,
    groups: () => cluster.groups,
    replace: async (wanted) => {
      // Callers that wait for an earlier change now wait for this one, because it replaces the earlier one.
      const before = known
      known = Promise.withResolvers()
      known.promise.then(before.resolve)
      cluster.replace(wanted, context.node().name)
      reporter?.wake()
      await known.promise
    },
    start: async () => {
      faults.onKill((name) => {
        const server = cluster.get(name)
        if (!server) return
        logger.warn('An injected fault killed a virtual server', { server: name })
        cluster.kill(server)
      })
      const process = context.node().name
      cluster.replace(settings.get('svc.simulation.virtualServers'), process)
      if (placementFile !== undefined) await readPlacement(cluster, placementFile)
      const threads = settings.get('svc.segmentCache.numLoadingThreads')
      receiver = await receiveRequests(settings, process, threads, async (batch) => loading.enqueue(batch))
      worker = startLoop(
        workPeriodMs,
        async () => loading.advance(),
        () => undefined,
      )
      reporter = startReporter(context, {
        report: async () => {
          const isMore = await report()
          if (cluster.isAllKnown()) known.resolve()
          if (isMore) reporter?.wake()
        },
        periodMs: workPeriodMs,
      })
      standbyReporter = startStandbyReports(context, () => createStandbyReports(cluster, context))
      await known.promise
      logger.info('Registered the virtual servers with the leader', { servers: cluster.servers().length })
    },
    stop: async () => {
      await receiver?.close()
      await worker?.stop()
      await reporter?.stop()
      await standbyReporter?.stop()
      // A start that failed before the file was read must not replace it.
      if (placementFile !== undefined && reporter) await writePlacement(cluster, placementFile)
    },
  }
}
