import { currentSession, endSession, RequestFailure } from '../session/index.ts'
import type {
  ClusterEvent,
  WorkerCalls,
  WorkerCancellation,
  WorkerRequest,
  WorkerResponse,
} from './messages.ts'

interface Waiting {
  resolve(output: unknown): void
  reject(error: unknown): void
}

let worker: Worker | undefined
let nextId = 0
const waiting = new Map<number, Waiting>()
const listeners = new Set<(event: ClusterEvent) => void>()

function startWorker(): Worker {
  const started = new Worker(new URL('./preview.worker.ts', import.meta.url), { type: 'module' })
  started.addEventListener('message', ({ data }: MessageEvent<WorkerResponse>) => {
    if ('event' in data) {
      for (const listener of listeners) listener(data.event)
      return
    }
    const call = waiting.get(data.id)
    waiting.delete(data.id)
    if ('output' in data) {
      call?.resolve(data.output)
      return
    }
    if (data.status === 401) endSession()
    call?.reject(new RequestFailure(data.status, data.message))
  })
  return started
}

/** Calls the worker on behalf of this tab's user, until the signal cancels the call. Fails with a RequestFailure. */
export function callWorker<Kind extends keyof WorkerCalls>(
  kind: Kind,
  input: WorkerCalls[Kind]['input'],
  signal?: AbortSignal,
): Promise<WorkerCalls[Kind]['output']> {
  worker ??= startWorker()
  const target = worker
  const id = nextId
  nextId += 1
  const { authorization } = currentSession()
  const request: WorkerRequest<Kind> = { id, kind, authorization, input }
  target.postMessage(request)
  signal?.addEventListener('abort', () => target.postMessage({ canceled: id } satisfies WorkerCancellation))
  return new Promise((resolve, reject) => waiting.set(id, { resolve: resolve as Waiting['resolve'], reject }))
}

/** Calls a listener for each event of the cluster. Returns a function that removes it. */
export function listenToCluster(listener: (event: ClusterEvent) => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}
