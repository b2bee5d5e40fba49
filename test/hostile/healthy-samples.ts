import { once } from 'node:events'
import { Worker } from 'node:worker_threads'

/** The work of a healthy user: one request to each of the targets every `periodMs`. */
export interface HealthyTask {
  readonly targets: readonly { readonly instance: string; readonly url: string }[]
  readonly trusted: string | undefined
  readonly credentials: string
  readonly periodMs: number
}

/** One request of the healthy user. */
export interface HealthySample {
  readonly instance: string
  /** Milliseconds since the epoch. */
  readonly startedAtMs: number
  readonly durationMs: number
  /** 0 if there was no answer. */
  readonly status: number
}

/** A healthy user in its own thread. */
export interface HealthyUser {
  /** The samples since the last call. */
  report(): Promise<HealthySample[]>
  /**
   * Stops the thread, and returns the last samples, including those of requests in flight; empty if it was
   * stopped before.
   */
  stop(): Promise<HealthySample[]>
}

/** Starts a healthy user. */
export function startHealthyUser(task: HealthyTask): HealthyUser {
  const worker = new Worker(new URL('healthy-user.ts', import.meta.url), { workerData: task })
  const receive = async (wish: 'report' | 'stop'): Promise<HealthySample[]> => {
    const answer = once(worker, 'message')
    worker.postMessage(wish)
    return (await answer)[0] as HealthySample[]
  }
  let hasStopped = false
  return {
    report: () => receive('report'),
    stop: async () => {
      if (hasStopped) return []
      hasStopped = true
      const exited = once(worker, 'exit')
      const samples = await receive('stop')
      await exited
      return samples
    },
  }
}

/** The 99th percentile, in milliseconds; 0 if there are no samples. */
export function p99(durationsMs: readonly number[]): number {
  const sorted = [...durationsMs].sort((left, right) => left - right)
  return sorted[Math.max(0, Math.ceil(sorted.length * 0.99) - 1)] ?? 0
}
