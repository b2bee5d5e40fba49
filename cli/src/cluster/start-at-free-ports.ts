import { Failure } from '@svc/domain/failure'
import { retry } from '@svc/shared/retry'
import { reservePortOffset } from './free-ports.ts'
import { type Cluster, type StartOptions, startCluster } from './start-cluster.ts'

/** What to start at free ports. */
export interface FreePortsOptions extends Omit<StartOptions, 'portOffset'> {
  /** Called before each attempt, with the offset of its ports. */
  readonly beforeStart?: ((portOffset: number) => Promise<void>) | undefined
}

/** Starts a cluster on ports that are free. Tries others if another program takes one before the cluster has started. */
export async function startAtFreePorts({ beforeStart, ...options }: FreePortsOptions): Promise<Cluster> {
  const start = async (): Promise<Cluster> => {
    const { portOffset, release } = await reservePortOffset(options)
    try {
      await beforeStart?.(portOffset)
      const cluster = await startCluster({ ...options, portOffset })
      return { ...cluster, stop: () => cluster.stop().finally(release) }
    } catch (error) {
      release()
      throw error
    }
  }
  const isTemporary = (error: Error) => error instanceof Failure && error.code === 'conflict'
  return await retry(start, { isTemporary, delayMs: 0, maxAttempts: 3 })
}
