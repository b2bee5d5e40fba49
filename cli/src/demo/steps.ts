import path from 'node:path'
import { bucketOf, formatInstant, type Interval, parseInterval } from '@svc/domain/time'
import { repositoryRoot } from '../home/index.ts'
import type { IngestSpec } from '../ingest/index.ts'

/** One change of rules, with a title. */
export interface DemoStep {
  readonly title: string
  /** As JSON, in order. */
  readonly rules: readonly Readonly<Record<string, unknown>>[]
}

/** The shipped data set: flights within the United States, see data/README.md. */
export const demoFile = path.join(repositoryRoot, 'data/flights.csv')

/** How the data set is ingested. */
export const demoSpec: IngestSpec = {
  dataSource: 'flights',
  timestampColumn: 'time',
  timestampFormat: 'iso',
  granularity: 'DAY',
  format: 'csv',
  append: false,
  dimensions: [],
}

/** The time range of the data set, which has data on every day. */
const covered = parseInterval('2001-01-01/2001-04-01')

/** The historicals of the demo, in the format of `--historicals`. */
export const demoHistoricals = 'hot=2,_default_tier=2,cold=1'

/** The tiers in display order. */
export const demoTiers = ['hot', '_default_tier', 'cold'] as const

/** The days of the data set; each becomes one segment. */
export function demoDays(): Interval[] {
  const days: Interval[] = []
  for (let start = covered.start; start < covered.end; ) {
    const day = bucketOf('DAY', start)
    days.push(day)
    start = day.end
  }
  return days
}

/** What the demo does with the rules, in order. */
export function demoSteps(): DemoStep[] {
  const days = demoDays()
  const lastDays = (count: number) => dates({ start: days.at(-count)!.start, end: covered.end })
  const oldestMonth = dates(bucketOf('MONTH', covered.start))
  const hot = (count: number) => ({
    type: 'loadByInterval',
    interval: lastDays(count),
    tieredReplicants: { hot: 2 },
  })
  const cold = { type: 'loadByInterval', interval: oldestMonth, tieredReplicants: { cold: 1 } }
  const rest = { type: 'loadForever', tieredReplicants: { _default_tier: 1 } }
  return [
    {
      title: 'Every day has two copies on _default_tier',
      rules: [{ type: 'loadForever', tieredReplicants: { _default_tier: 2 } }],
    },
    {
      title:
        'The last 28 days move to hot (two copies), January moves to cold, and the rest keeps one copy on _default_tier',
      rules: [hot(28), cold, rest],
    },
    {
      title: 'The hot window shrinks to 14 days: older days move back to _default_tier',
      rules: [hot(14), cold, rest],
    },
    { title: 'The hot window shrinks to 7 days', rules: [hot(7), cold, rest] },
    {
      title: 'January is dropped: no tier serves it anymore, but deep storage keeps its files',
      rules: [{ type: 'dropByInterval', interval: oldestMonth }, hot(7), rest],
    },
    {
      title: 'Everything is dropped: all tiers are empty, but deep storage keeps every file',
      rules: [{ type: 'dropForever' }],
    },
  ]
}

/** An interval of entire days in short form, for example `2001-01-01/2001-02-01`. */
function dates({ start, end }: Interval): string {
  return [start, end].map((instant) => formatInstant(instant).slice(0, 10)).join('/')
}
