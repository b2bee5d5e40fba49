import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import {
  type CompactionSegment,
  parseClusterConfig,
  parseCompactionConfig,
  planCompaction,
  stateAfter,
} from '@svc/domain/compaction'
import { segmentId } from '@svc/domain/segment'
import { repositoryRoot } from '../home/index.ts'
import { describeMachine, medianOf } from './figures.ts'
import { outputOf } from './run-program.ts'

/** Results of the compaction benchmark: min, median, and max time of each case. */
export interface CompactionBenchmark {
  readonly machine: string
  readonly segments: number
  readonly dataSources: number
  readonly rounds: number
  readonly cases: readonly {
    readonly policy: string
    readonly segmentGranularity: string
    readonly candidates: number
    readonly milliseconds: Spread
    /** The same case in Druid 37, and how many times as long it takes. */
    readonly reference?: Spread & { readonly candidates: number; readonly ratio: number }
  }[]
}

interface Spread {
  readonly min: number
  readonly median: number
  readonly max: number
}

/** A case as reported by the benchmark of Druid 37. */
interface ReferenceCase {
  readonly policy: string
  readonly segmentGranularity: string
  readonly candidates: number
  readonly milliseconds: readonly number[]
}

const dayMs = 86_400_000
const segmentsOfDay = 20

/**
 * Measures planning of compaction, from segments in memory to sorted candidates. A third of the segments was never
 * compacted, a third was compacted as configured, and a third differently. `reference` is the folder of a Druid 37
 * installation, which first does the same in its own process. Throws a Failure if that is not possible.
 */
export async function benchCompaction(
  segments: number,
  dataSources: number,
  rounds: number,
  reference: string | undefined,
): Promise<CompactionBenchmark> {
  const ofReference =
    reference === undefined ? [] : await measureReference(reference, segments, dataSources, rounds)
  const names = Array.from({ length: dataSources }, (_, index) => `datasource${index}`)
  const cases = []
  for (const granularity of [null, 'DAY', 'MONTH']) {
    const configs = names.map((dataSource) =>
      parseCompactionConfig({
        dataSource,
        maxRowsPerSegment: 5_000_000,
        ...(granularity === null ? {} : { granularitySpec: { segmentGranularity: granularity } }),
      }),
    )
    const states = [
      undefined,
      stateAfter(configs[0]!),
      stateAfter(parseCompactionConfig({ dataSource: 'x', maxRowsPerSegment: 77 })),
    ]
    const stored = new Map(names.map((name) => [name, segmentsOf(name, segments / dataSources, states)]))
    for (const type of ['newestSegmentFirst', 'mostFragmentedFirst', 'fixedIntervalOrder']) {
      const eligibleCandidates = names
        .slice(0, 10)
        .map((datasource) => ({ datasource, interval: '2000-01-01/2040-01-01' }))
      const cluster = parseClusterConfig({
        compactionPolicy: type === 'fixedIntervalOrder' ? { type, eligibleCandidates } : { type },
      })
      const times: number[] = []
      let candidates = 0
      for (let round = 0; round < rounds; round++) {
        const startedAt = performance.now()
        const plan = planCompaction({
          cluster,
          configs,
          segmentsOf: (dataSource) => stored.get(dataSource) ?? [],
          locks: [],
          workerCapacity: 100,
        })
        times.push(Math.round(performance.now() - startedAt))
        candidates = plan.candidates.length
      }
      const segmentGranularity = granularity ?? 'none'
      const milliseconds = spreadOf(times)
      const same = ofReference.find(
        (one) => one.policy === type && one.segmentGranularity === segmentGranularity,
      )
      const found = same && spreadOf(same.milliseconds)
      cases.push({
        policy: type,
        segmentGranularity,
        candidates,
        milliseconds,
        ...(found && {
          reference: { ...found, candidates: same.candidates, ratio: found.median / milliseconds.median },
        }),
      })
    }
  }
  return { machine: describeMachine(), segments, dataSources, rounds, cases }
}

const spreadOf = (values: readonly number[]): Spread => ({
  min: Math.min(...values),
  median: medianOf(values),
  max: Math.max(...values),
})

async function measureReference(
  folder: string,
  ...sizes: readonly [segments: number, dataSources: number, rounds: number]
): Promise<ReferenceCase[]> {
  const classes = mkdtempSync(path.join(tmpdir(), 'svc-bench-'))
  try {
    const libraries = path.join(folder, 'lib', '*')
    const source = path.join(repositoryRoot, 'test/druid/CompactionBench.java')
    const problem = 'Failed to run the Druid 37 benchmark'
    await outputOf('javac', ['-nowarn', '-cp', libraries, '-d', classes, source], problem)
    const args = ['-cp', `${classes}:${libraries}`, 'CompactionBench', ...sizes.map(String)]
    const output = await outputOf(path.join(folder, 'java.sh'), args, problem)
    return output.split('\n').map((line) => JSON.parse(line) as ReferenceCase)
  } finally {
    rmSync(classes, { recursive: true, force: true })
  }
}

function segmentsOf(
  dataSource: string,
  count: number,
  states: readonly CompactionSegment['lastCompactionState'][],
): CompactionSegment[] {
  const first = Date.UTC(2020, 0, 1)
  return Array.from({ length: count }, (_, index) => {
    const day = Math.floor(index / segmentsOfDay)
    const key = {
      dataSource,
      interval: { start: first + day * dayMs, end: first + (day + 1) * dayMs },
      version: '2026-01-01T00:00:00.000Z',
      partitionNum: index % segmentsOfDay,
    }
    return {
      ...key,
      id: segmentId(key),
      partitions: segmentsOfDay,
      sizeBytes: 5_000_000,
      totalRows: 100_000,
      lastCompactionState: states[day % states.length],
    }
  })
}
