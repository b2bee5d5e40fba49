import { currentSession, endSession, onUserChange, RequestFailure } from '../session/index.ts'
import type {
  ClusterEvent,
  WorkerCalls,
  WorkerCancellation,
  WorkerRequest,
  WorkerResponse,
} from './messages.ts'

interface Waiting {
  readonly authorization: string | undefined
  resolve(output: unknown): void
  reject(error: unknown): void
}

let worker: Worker | undefined
let nextId = 0
let isFollowing = false
const waiting = new Map<number, Waiting>()
const listeners = new Set<(event: ClusterEvent) => void>()

/** Starts the worker, unless it runs already. */
export function startWorker(): Worker {
  if (worker !== undefined) return worker
  const started = new Worker(new URL('./web-worker.ts', import.meta.url), { type: 'module' })
  worker = started
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
    if (data.status === 401) endSession(call?.authorization)
    call?.reject(new RequestFailure(data.status, data.message))
  })
  started.addEventListener('error', () => {
    if (worker === started)
      stopWorker('Part of this page failed to load. Check your connection, then reload the page.')
  })
  // After a failure, the next worker continues to follow the cluster.
  if (isFollowing) void callWorker('follow', { isOn: true }).catch(() => undefined)
  return started
}

/** Ends the worker with all its calls. The next call starts another one, which knows nothing. */
function stopWorker(reason: string): void {
  worker?.terminate()
  worker = undefined
  const calls = [...waiting.values()]
  waiting.clear()
  for (const { reject } of calls) reject(new RequestFailure(0, reason))
}

// The worker has the inventory of its user.
onUserChange(() => {
  isFollowing = false
  stopWorker('Another user has logged in.')
})

/** Calls the worker on behalf of this tab's user, until the signal cancels the call. Fails with a RequestFailure. */
export function callWorker<Kind extends keyof WorkerCalls>(
  kind: Kind,
  input: WorkerCalls[Kind]['input'],
  signal?: AbortSignal,
): Promise<WorkerCalls[Kind]['output']> {
  const target = startWorker()
  if (kind === 'follow') isFollowing = (input as WorkerCalls['follow']['input']).isOn
  const id = nextId
  nextId += 1
  const { authorization } = currentSession()
  const request: WorkerRequest<Kind> = { id, kind, authorization, input }
  target.postMessage(request)
  signal?.addEventListener('abort', () => target.postMessage({ canceled: id } satisfies WorkerCancellation))
  return new Promise((resolve, reject) =>
    waiting.set(id, { authorization, resolve: resolve as Waiting['resolve'], reject }),
  )
}

/** Calls a listener for each event of the cluster. Returns a function that removes it. */
export function listenToCluster(listener: (event: ClusterEvent) => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}
