import { Failure } from '@svc/domain/failure'
import { reservePortOffset } from './free-ports.ts'
import { type Cluster, type StartOptions, startCluster } from './start-cluster.ts'

/** What to start at free ports. */
export interface FreePortsOptions extends Omit<StartOptions, 'portOffset'> {
  /** Called before each attempt, with the offset of its ports. */
  readonly beforeStart?: ((portOffset: number) => Promise<void>) | undefined
}

/** Starts a cluster on ports that are free. Tries others if another program takes one before the cluster has started. */
export async function startAtFreePorts({ beforeStart, ...options }: FreePortsOptions): Promise<Cluster> {
  for (let attempt = 1; ; attempt++) {
    const { portOffset, release } = await reservePortOffset(options)
    try {
      await beforeStart?.(portOffset)
      const cluster = await startCluster({ ...options, portOffset })
      return { ...cluster, stop: () => cluster.stop().finally(release) }
    } catch (error) {
      release()
      if (attempt === maxAttempts || !(error instanceof Failure) || error.code !== 'conflict') throw error
    }
  }
}

const maxAttempts = 3
