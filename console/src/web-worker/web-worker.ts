// Runs in a worker of the page: fetches the inventory, and computes previews with the code of the coordinator.
import { type DecodedInventory, decodeInventory, type PreviewRow, updateInventory } from '@svc/domain/preview'
import { rulesPathOf } from '@svc/domain/rules'
import { formatInstant, parseInstant } from '@svc/domain/time'
import { type CompactionStatus, intervalCountOf, maxCompactionIntervals } from '../answers/index.ts'
import { type CompactionOverTime, compactionRunsOf } from './compaction-runs.ts'
import { type DroppedSegments, droppedSegmentsIn } from './dropped-segments.ts'
import { Follower } from './follower.ts'
import { LocalInventory } from './local-inventory.ts'
import type {
  DroppedTask,
  InventoryFigures,
  OpenedSnapshot,
  PreviewAnswer,
  PreviewTask,
  PreviewView,
  SnapshotPlace,
  WorkerCalls,
  WorkerCancellation,
  WorkerRequest,
  WorkerResponse,
} from './messages.ts'
import { type ServedDatasource, servedFigures } from './served-figures.ts'
import { SnapshotAnswers } from './snapshot-answers.ts'
import { readSnapshot } from './snapshot-files.ts'

class WorkerFailure extends Error {
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

let inventory: DecodedInventory | undefined
let local: LocalInventory | undefined
/** The snapshot that replaces the cluster. */
let snapshot: { readonly answers: SnapshotAnswers; readonly figures: InventoryFigures } | undefined
let tag: string | undefined
let figures: InventoryFigures | undefined
let revision = 0
let refreshing: Promise<unknown> = Promise.resolve()

let login: string | undefined

const follower = new Follower({
  open: (since, signal) =>
    request(`/svc/coordinator/v1/changes${since === undefined ? '' : `?since=${since}`}`, login, { signal }),
  report: (event) => self.postMessage({ event } satisfies WorkerResponse),
})

const canceled = new Set<number>()

self.addEventListener('message', ({ data }: MessageEvent<WorkerRequest | WorkerCancellation>) => {
  if ('canceled' in data) canceled.add(data.canceled)
  else
    void answer(data).then((response) => {
      canceled.delete(data.id)
      self.postMessage(response)
    })
})

async function answer(request: WorkerRequest): Promise<WorkerResponse> {
  const { id } = request
  try {
    return { id, output: await outputOf(request) }
  } catch (error) {
    const status = error instanceof WorkerFailure ? error.status : 400
    return { id, status, message: error instanceof Error ? error.message : String(error) }
  }
}

function outputOf({ id, kind, input, authorization }: WorkerRequest) {
  if (kind === 'openSnapshot') return openSnapshot(input as SnapshotPlace)
  if (kind === 'request') {
    const { method, path } = input as WorkerCalls['request']['input']
    return snapshot!.answers.answer(method, path)
  }
  const isCanceled = (): boolean => canceled.has(id)
  if (kind === 'changeServers')
    return runInSlices(local!.changeServers(input as WorkerCalls['changeServers']['input']), isCanceled)
  if (kind === 'future')
    return runInSlices(local!.future((input as WorkerCalls['future']['input']).now), isCanceled)
  if (kind === 'refresh') {
    if (snapshot !== undefined) return snapshot.figures
    // One after the other, because each one updates the inventory of the one before.
    const { canReadState } = input as WorkerCalls['refresh']['input']
    const fetchFigures = canReadState ? refresh : refreshWithoutInventory
    const next = refreshing.catch(() => undefined).then(() => fetchFigures(authorization))
    refreshing = next
    return next
  }
  if (kind === 'follow') return follow(input as WorkerCalls['follow']['input'], authorization)
  if (kind === 'compaction')
    return compactionOf((input as WorkerCalls['compaction']['input']).dataSource, authorization, isCanceled)
  if (kind === 'dropped')
    return local
      ? runInSlices(local.dropped(input as WorkerCalls['dropped']['input']), isCanceled)
      : droppedAtCoordinator(input as WorkerCalls['dropped']['input'], authorization)
  if (kind === 'explain')
    return local
      ? runInSlices(local.explain(input as WorkerCalls['explain']['input']), isCanceled)
      : noSegments
  if (local === undefined) return previewAtCoordinator(input as PreviewTask, authorization)
  return runInSlices(local.preview(input as PreviewTask), isCanceled)
}

// Short enough that the next edit is previewed at once.
const sliceMs = 40

/** Runs a calculation in slices, so that other requests are answered in between. Fails if it is canceled. */
async function runInSlices<Result>(
  steps: Generator<undefined, Result>,
  isCanceled: () => boolean,
): Promise<Result> {
  let startedAt = performance.now()
  for (;;) {
    const step = steps.next()
    if (step.done) return step.value
    if (performance.now() - startedAt < sliceMs) continue
    await new Promise((resolve) => setTimeout(resolve))
    if (isCanceled()) throw new WorkerFailure(0, 'The request was canceled')
    startedAt = performance.now()
  }
}

const inSlices = <Result>(steps: Generator<undefined, Result>): Promise<Result> =>
  runInSlices(steps, () => false)

const noSegments = { total: 0, lacking: 0, segments: [] }

function follow({ isOn }: WorkerCalls['follow']['input'], authorization: string | undefined): null {
  // Another user must not continue the stream of this one.
  if (!isOn || authorization !== login) follower.stop()
  login = authorization
  if (isOn) follower.start()
  return null
}

async function openSnapshot(place: SnapshotPlace): Promise<OpenedSnapshot> {
  const { inventory: read, opened } = await readSnapshot(place, Date.now())
  local = new LocalInventory(read)
  revision += 1
  const shown = await inSlices(local.figures(String(revision)))
  snapshot = { answers: new SnapshotAnswers(read), figures: shown }
  return opened
}

async function request(
  path: string,
  authorization: string | undefined,
  init: RequestInit = {},
): Promise<Response> {
  const response = await fetch(path, {
    ...init,
    credentials: 'omit',
    cache: 'no-store',
    headers: { ...init.headers, ...(authorization === undefined ? {} : { Authorization: authorization }) },
  }).catch((error: unknown) => {
    if (init.signal?.aborted) throw error
    throw new WorkerFailure(0, 'The router is unreachable. Check that the cluster is running.')
  })
  if (response.ok || response.status === 304) return response
  const text = await response.text()
  let message = `The router returned status ${response.status}`
  try {
    message = (JSON.parse(text) as { errorMessage: string }).errorMessage
  } catch {
    // Not every error has a JSON body.
  }
  throw new WorkerFailure(response.status, message)
}

async function refresh(authorization: string | undefined): Promise<InventoryFigures> {
  const headers: Record<string, string> = tag === undefined ? {} : { 'If-None-Match': tag }
  const since = tag === undefined || inventory === undefined ? '' : `?since=${tag.slice(1, -1)}`
  const response = await request(`/svc/coordinator/v1/inventory${since}`, authorization, { headers })
  if (response.status === 304 && figures) return figures
  const received = decodeInventory(await response.arrayBuffer())
  // Until the update of a large datasource is complete, previews are those of the inventory before it.
  const next = inventory === undefined ? received : await inSlices(updateInventory(inventory, received))
  // Previews must count the space that other datasources take, so the coordinator computes them if the user cannot read all.
  const decoded = new LocalInventory(next)
  const shown = await inSlices(decoded.figures(String(revision + 1)))
  inventory = next
  tag = response.headers.get('etag') ?? undefined
  revision += 1
  local = next.isComplete ? decoded : undefined
  figures = { ...shown, isLocal: next.isComplete }
  return figures
}

/** Returns the served segments of the datasources that a user may read who may not read the state of the cluster. */
async function refreshWithoutInventory(authorization: string | undefined): Promise<InventoryFigures> {
  const [caller, names, served] = await Promise.all([
    fetchJson<{ now: string }>('/svc/router/v1/caller', authorization),
    fetchJson<string[]>('/svc/coordinator/v1/metadata/datasources', authorization),
    fetchJson<ServedDatasource[]>('/svc/coordinator/v1/datasources?simple', authorization),
  ])
  local = undefined
  inventory = undefined
  tag = undefined
  revision += 1
  figures = servedFigures(String(revision), parseInstant(caller.now)!, names, served)
  return figures
}

async function fetchJson<Answer>(path: string, authorization: string | undefined): Promise<Answer> {
  return (await (await request(path, authorization)).json()) as Answer
}

async function previewAtCoordinator(
  { dataSource, rules, now, maxBuckets }: PreviewTask,
  authorization: string | undefined,
): Promise<PreviewView> {
  const startedAt = performance.now()
  const list = rules ?? (await storedRules(dataSource, authorization))
  const body = {
    rules: Object.fromEntries([[dataSource, list]]),
    ...(now === undefined ? {} : { now: formatInstant(now) }),
  }
  const answered = await simulateRules(body, `buckets=${maxBuckets}`, authorization)
  const { buckets } = answered.summary
  const start = buckets && parseInstant(buckets.start)
  return {
    answer: answered,
    assumesSpace: false,
    buckets,
    replicas: undefined,
    rules: undefined,
    moves: undefined,
    losses: undefined,
    extent:
      buckets && start !== undefined ? { start, end: start + buckets.widthMs * buckets.count } : undefined,
    tookMs: performance.now() - startedAt,
  }
}

/** Returns a preview of the coordinator. Fails if the coordinator does not know the cluster yet. */
async function simulateRules(
  body: object,
  query: string,
  authorization: string | undefined,
): Promise<PreviewAnswer & { readonly segments?: readonly PreviewRow[] }> {
  const response = await request(`/svc/coordinator/v1/rules/simulate?${query}`, authorization, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  })
  const answered = (await response.json()) as PreviewAnswer
  if (answered.known) return answered
  const [reason = 'The leader does not know the state of the cluster yet'] = answered.reasons ?? []
  throw new WorkerFailure(503, reason)
}

// The maximum of the coordinator.
const rowsPerPage = 10_000

async function droppedAtCoordinator(
  { dataSource, rules }: DroppedTask,
  authorization: string | undefined,
): Promise<DroppedSegments> {
  const body = { rules: Object.fromEntries([[dataSource, rules]]) }
  const rows: PreviewRow[] = []
  for (let isLast = false; !isLast; ) {
    const query = `full&limit=${rowsPerPage}&offset=${rows.length}`
    const { segments = [], summary } = await simulateRules(body, query, authorization)
    rows.push(...segments)
    isLast = segments.length < rowsPerPage || summary.effects.unused.segments === 0
  }
  return droppedSegmentsIn(dataSource, rows)
}

async function storedRules(dataSource: string, authorization: string | undefined): Promise<object[]> {
  const response = await request(rulesPathOf(dataSource), authorization)
  return (await response.json()) as object[]
}

async function compactionOf(
  dataSource: string,
  authorization: string | undefined,
  isCanceled: () => boolean,
): Promise<CompactionOverTime | null> {
  const path = `/svc/indexer/v1/compaction/status/datasources/${encodeURIComponent(dataSource)}`
  const statusOf = async (query: string): Promise<CompactionStatus | undefined> => {
    const { latestStatus } = await fetchJson<{ latestStatus: [CompactionStatus?] }>(
      `${path}${query}`,
      authorization,
    )
    return latestStatus[0]
  }
  const counted = await statusOf('')
  if (counted === undefined) return null
  const intervalCount = intervalCountOf(counted)
  if (intervalCount > maxCompactionIntervals) return { intervalCount, runs: undefined }
  const intervals = (await statusOf('?full'))?.intervals
  return { intervalCount, runs: intervals && (await runInSlices(compactionRunsOf(intervals), isCanceled)) }
}
