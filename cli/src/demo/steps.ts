import type { FileIngestion } from '@svc/domain/ingestion'
import { bucketOf, type Interval } from '@svc/domain/time'

/** One rule change, with a title. */
export interface DemoStep {
  readonly title: string
  /** As JSON, in order. */
  readonly rules: readonly Readonly<Record<string, unknown>>[]
}

/** How much sample data the demo loads. */
export const demoSample = { days: 90, rows: 20_000 } as const

/** How the data set is ingested. */
export const demoSpec: FileIngestion = {
  dataSource: 'flights',
  timestampColumn: 'time',
  timestampFormat: 'iso',
  granularity: 'DAY',
  format: 'csv',
  append: false,
  dimensions: [],
}

/** The historicals of the demo, in the format of `--historicals`. */
export const demoHistoricals = 'hot=2,_default_tier=2,cold=1'

/** The tiers in display order. */
export const demoTiers = ['hot', '_default_tier', 'cold'] as const

/** The days of the sample data before `endMs`, a midnight in UTC; each becomes one segment. */
export function demoDays(endMs: number): Interval[] {
  const days: Interval[] = []
  for (let end = endMs; days.length < demoSample.days; ) {
    const day = bucketOf('DAY', end - 1)
    days.unshift(day)
    end = day.start
  }
  return days
}

/** What the demo does with the rules, in order. */
export function demoSteps(): DemoStep[] {
  const hot = (days: number) => load(`P${days}D`, { hot: 2 })
  const recent = load('P59D', { _default_tier: 1 })
  const cold = { type: 'loadForever', tieredReplicants: { cold: 1 } }
  return [
    {
      title: 'Every day has two replicas on _default_tier',
      rules: [{ type: 'loadForever', tieredReplicants: { _default_tier: 2 } }],
    },
    {
      title:
        'The last 28 days move to hot (two replicas), the oldest 31 days move to cold, and the rest keep one replica on _default_tier',
      rules: [hot(28), recent, cold],
    },
    {
      title: 'The hot window shrinks to 14 days: older days move back to _default_tier',
      rules: [hot(14), recent, cold],
    },
    { title: 'The hot window shrinks to 7 days', rules: [hot(7), recent, cold] },
    {
      title:
        'The oldest 31 days are dropped: no tier serves them anymore, but deep storage keeps their files',
      rules: [hot(7), recent, { type: 'dropForever' }],
    },
    {
      title: 'Everything is dropped: all tiers are empty, but deep storage keeps every file',
      rules: [{ type: 'dropForever' }],
    },
  ]
}

const load = (period: string, tieredReplicants: Readonly<Record<string, number>>) => ({
  type: 'loadByPeriod',
  period,
  tieredReplicants,
})
