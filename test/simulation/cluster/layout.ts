import type { Role } from '@svc/shared/config'
import { instances, tiers } from '../../faults/schedule.ts'

/** Where deep storage appears on every machine. */
export const deepStorageFolder = '/deep-storage'
export const cacheFolder = '/cache'

const roles = Object.keys(instances) as Role[]

/** Returns the role of an instance such as `historical-hot-1`. */
export const roleOf = (instance: string): Role =>
  roles.find((role) => (instances as Partial<Record<Role, readonly string[]>>)[role]?.includes(instance))!

/** The URL of an instance. */
export const urlOf = (instance: string): string => `http://${instance}:8080`

/** How fast things happen, which depends on the seed. */
export interface Pace {
  /** Between runs of duties, and between heartbeats. */
  readonly coordinatorSeconds: number
  readonly compactionSeconds: number
  readonly heartbeatSeconds: number
  /** Typical latency of the network. */
  readonly latencyMs: number
  /** How much longer an access to deep storage takes than one to other disks, on average. */
  readonly deepStorageMs: number
  /** How long the process of a task takes to start, on average. */
  readonly taskSeconds: number
  /** Segments that a historical loads at the same time. */
  readonly loadingThreads: number
}

/** How long a server that does not announce itself counts as present. */
export const discoveryTimeoutMs = ({ heartbeatSeconds }: Pace): number => 5000 * heartbeatSeconds

/** Returns the properties of a server. */
export function propertiesOf(instance: string, pace: Pace): Record<string, string> {
  const common = {
    'svc.host': instance,
    'svc.plaintextPort': '8080',
    'svc.storage.storageDirectory': deepStorageFolder,
    'svc.discovery.heartbeatPeriod': `PT${pace.heartbeatSeconds}S`,
    'svc.discovery.timeout': `PT${discoveryTimeoutMs(pace) / 1000}S`,
    'svc.compaction.period': `PT${pace.compactionSeconds}S`,
  }
  switch (roleOf(instance)) {
    case 'coordinator':
      return { ...common, 'svc.coordinator.period': `PT${pace.coordinatorSeconds}S` }
    case 'historical': {
      const tier = Object.keys(tiers).find((name) => tiers[name]!.includes(instance))!
      const locations = JSON.stringify([{ path: cacheFolder, maxSize: '1g' }])
      return {
        ...common,
        'svc.server.tier': tier,
        'svc.segmentCache.locations': locations,
        'svc.segmentCache.numLoadingThreads': String(pace.loadingThreads),
      }
    }
    case 'overlord':
      return { ...common, ...taskFolders, 'svc.worker.capacity': '1' }
    case 'worker':
      return { ...common, ...taskFolders, 'svc.worker.capacity': '2' }
    case 'broker':
      return { ...common, 'svc.query.directory': '/queries' }
    default:
      return common
  }
}

const taskFolders = { 'svc.indexer.task.baseTaskDir': '/tasks', 'svc.indexer.logs.directory': '/logs' }
