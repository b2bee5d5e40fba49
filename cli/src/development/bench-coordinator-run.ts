// One round of the coordinator benchmark, in its own process so that memory can be measured: builds the same cluster as
// the benchmark of Druid 37, runs it empty, loaded, and changed, and prints the measurements as JSON.
import { copyFlag, SegmentTable } from '@svc/domain/inventory'
import { loadStatusOf, type RetentionPlan, RetentionPlanner } from '@svc/domain/retention'
import { parseRules, type RulesByName } from '@svc/domain/rules'
import { segmentId } from '@svc/domain/segment'

const [segmentCount, serverCount, datasourceCount] = process.argv.slice(2).map(Number) as [
  number,
  number,
  number,
]
const dayMs = 86_400_000
const sizeBytes = 500 * 1024 * 1024
// The number of segments that the coordinator processes between requests, see duties/run-rules.ts.
const partSize = 2000
const now = Date.now()

const table = new SegmentTable()
const perDatasource = Math.floor(segmentCount / datasourceCount)
const days = Math.min(perDatasource, 1000)
const partitions = Math.max(1, Math.floor(perDatasource / days))
const firstDay = Math.floor(now / dayMs) * dayMs - days * dayMs
const version = '2026-01-01T00:00:00.000Z'
for (let number = 0; number < datasourceCount; number++)
  for (let day = 0; day < days; day++)
    for (let partitionNum = 0; partitionNum < partitions; partitionNum++) {
      const interval = { start: firstDay + day * dayMs, end: firstDay + (day + 1) * dayMs }
      const key = { dataSource: `ds${number}`, interval, version, partitionNum }
      table.put({ ...key, ...interval, id: segmentId(key), partitions, sizeBytes, totalRows: 1000 })
    }
const rules: RulesByName = new Map(
  Array.from({ length: datasourceCount }, (_, number) => [
    `ds${number}`,
    parseRules([
      { type: 'loadByPeriod', period: 'P90D', tieredReplicants: { hot: 1, _default_tier: 1 } },
      { type: 'loadByPeriod', period: 'P730D', tieredReplicants: { _default_tier: 1 } },
      { type: 'dropForever' },
    ]),
  ]),
)
const maxSizeBytes = (segmentCount * sizeBytes * 4) / serverCount
const usedSizeBytes = new Float64Array(serverCount)
const servers = () =>
  Array.from({ length: serverCount }, (_, number) => ({
    number,
    name: `historical${number}`,
    type: 'historical' as const,
    tier: number % 2 === 0 ? 'hot' : '_default_tier',
    maxSizeBytes,
    usedSizeBytes: usedSizeBytes[number] as number,
    loadingSizeBytes: 0,
    queuedLoads: 0,
    decommissioning: false,
  }))
const planner = new RetentionPlanner(table)

/** One run. Passes its plan to `apply` in parts; the measured time does not include that. */
function run(
  at: number,
  wholly: boolean,
  apply: (plan: RetentionPlan) => void,
): { ms: number; longestPartMs: number } {
  let startedAt = performance.now()
  const started = planner.begin(
    {
      now: at,
      rules,
      servers: servers(),
      limits: { maxLoadsPerServer: Infinity, replicationThrottleLimit: Infinity },
    },
    wholly,
  )
  let longestPartMs = performance.now() - startedAt
  let ms = longestPartMs
  for (;;) {
    startedAt = performance.now()
    const part = started.next(partSize)
    const tookMs = performance.now() - startedAt
    ms += tookMs
    longestPartMs = Math.max(longestPartMs, tookMs)
    if (!part) return { ms, longestPartMs }
    apply(part)
  }
}

let copies = 0
const unused: string[] = []
const first = run(now, false, ({ loads, markUnused }) => {
  copies += loads.rows.length
  loads.rows.forEach((row, at) => {
    const server = loads.servers[at] as number
    table.changeRow(row, server, copyFlag.served, 0)
    usedSizeBytes[server] = (usedSizeBytes[server] as number) + sizeBytes
  })
  for (const { rows } of markUnused) for (const row of rows) unused.push(table.idOf(row))
})
for (const id of unused) table.remove(id)
const nothing = () => undefined
run(now, false, nothing)
const steady = Array.from({ length: 20 }, (_, times) => run(now + 5000 * times, false, nothing).ms)
const full = Array.from({ length: 5 }, () => run(now + 100_000, true, nothing).ms)
// One day later, another rule matches the oldest day of each datasource.
const nextDay = run(now + dayMs, false, nothing).ms
const startedAt = performance.now()
const servedBy = servers()
for (let number = 0; number < datasourceCount; number++) loadStatusOf(table, number, rules, servedBy, now)
const loadStatusMs = performance.now() - startedAt

const median = (values: readonly number[]) => [...values].sort((a, b) => a - b)[values.length >> 1] as number
process.stdout.write(
  `${JSON.stringify({
    copies,
    firstMs: first.ms,
    longestPartMs: first.longestPartMs,
    steadyMs: median(steady),
    slowestSteadyMs: Math.max(...steady),
    fullRunMs: median(full),
    nextDayMs: nextDay,
    loadStatusMs,
    residentMiB: process.memoryUsage.rss() / 1024 / 1024,
    peakMiB: process.resourceUsage().maxRSS / 1024,
  })}\n`,
)
