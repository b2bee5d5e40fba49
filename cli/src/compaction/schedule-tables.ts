import type { ConfigDifference } from '@svc/domain/compaction'
import { countOf, formatBytes, formatDuration } from '@svc/domain/text'
import { shortInterval, type Table } from '../terminal/index.ts'
import { mergeAdjacent } from './adjacent-intervals.ts'

interface AnsweredTotals {
  readonly tasks: number
  readonly segments: number
  readonly bytes: number
  readonly slotSeconds: number
  readonly endsAt?: string
}

/** A simulated configuration, as the overlord answers it. All except the first are compared with the first. */
export interface AnsweredVariant {
  readonly name: string
  readonly driver: 'duty' | 'supervisors'
  readonly slots: number
  readonly totals: AnsweredTotals
  readonly tooFewSlots: number
  readonly runs: readonly {
    readonly at: string
    readonly totals: AnsweredTotals
    readonly tasks: readonly {
      readonly dataSource: string
      readonly interval: string
      readonly bytes: number
      readonly slots: number
      readonly endsAt: string
    }[]
  }[]
  readonly omittedRuns: number
  readonly configDifferences?: readonly ConfigDifference[]
  readonly omittedConfigDifferences?: number
  readonly differences?: readonly {
    readonly dataSource: string
    readonly interval: string
    readonly before: string
    readonly after: string
  }[]
  readonly omittedDifferences?: number
}

/** A compaction schedule, as the overlord answers it. */
export interface AnsweredSchedule {
  readonly speed: 'measured' | 'assumed'
  readonly msPerTask: number
  readonly bytesPerSecond: number | null
  readonly variants: readonly AnsweredVariant[]
  readonly missing: readonly {
    readonly dataSource: string
    readonly reason: 'noPermission' | 'noConfiguration' | 'noSegments'
  }[]
  readonly omittedMissing: number
}

/** One row for each simulated configuration. */
export function variantsTable({ variants }: AnsweredSchedule): Table {
  return {
    header: ['configuration', 'run by', 'tasks', 'segments', 'size', 'slots', 'slot time', 'done at'],
    rows: variants.map(({ name, driver, totals, slots, tooFewSlots }) => [
      name,
      driver,
      tooFewSlots === 0 ? String(totals.tasks) : `${totals.tasks} (${tooFewSlots} need more slots)`,
      String(totals.segments),
      formatBytes(totals.bytes),
      String(slots),
      totals.tasks === 0 ? '-' : formatDuration(totals.slotSeconds * 1000),
      totals.endsAt ?? '-',
    ]),
  }
}

/** The tasks of the next runs. Only the first task of a run shows its time. */
export function runsTable({ runs }: AnsweredVariant): Table {
  return {
    header: ['run', 'datasource', 'interval', 'size', 'slots', 'done at'],
    rows: runs.flatMap(({ at, totals, tasks }) => {
      const rows = tasks.map(({ dataSource, interval, bytes, slots, endsAt }, index) => [
        index === 0 ? at : '',
        dataSource,
        shortInterval(interval),
        formatBytes(bytes),
        String(slots),
        endsAt,
      ])
      const omitted = totals.tasks - tasks.length
      return omitted === 0 ? rows : [...rows, ['', `and ${countOf(omitted, 'more task')}`, '', '', '', '']]
    }),
  }
}

/** What a configuration does differently from the first one. Empty if there is no difference. */
export function differenceLines({ name, ...variant }: AnsweredVariant, first: AnsweredVariant): string[] {
  const { configDifferences = [], omittedConfigDifferences = 0 } = variant
  const { differences = [], omittedDifferences = 0 } = variant
  const lines = [
    ...configDifferences.map(({ dataSource, fields, isConfiguredBefore }) => {
      if (fields.length > 0) return `- [${dataSource}] differs in ${fields.join(', ')}.`
      const [only, other] = isConfiguredBefore ? [first.name, name] : [name, first.name]
      return `- [${dataSource}] is configured in ${only}, but not in ${other}.`
    }),
    ...(omittedConfigDifferences > 0
      ? [`- and ${countOf(omittedConfigDifferences, 'more datasource')} configured differently`]
      : []),
    ...mergeAdjacent(
      differences,
      (one, other) =>
        one.dataSource === other.dataSource && one.before === other.before && one.after === other.after,
    ).map(({ first, text }) => `- ${first.dataSource} ${text}: ${first.after} instead of ${first.before}`),
  ]
  if (omittedDifferences > 0) lines.push(`- and ${countOf(omittedDifferences, 'more interval')}`)
  return lines
}

const missingTexts: Readonly<Record<AnsweredSchedule['missing'][number]['reason'], string>> = {
  noPermission: 'you do not have permission to read it',
  noConfiguration: 'it has no compaction configuration',
  noSegments: 'it has no used segments',
}

/** The datasources of the request that the schedule does not contain, and why. Empty if there are none. */
export const missingLines = ({ missing, omittedMissing }: AnsweredSchedule): string[] => [
  ...missing.map(({ dataSource, reason }) => `- [${dataSource}]: ${missingTexts[reason]}`),
  ...(omittedMissing > 0 ? [`- and ${countOf(omittedMissing, 'more datasource')}`] : []),
]

/** The speed that the times depend on. */
export function speedText({ speed, bytesPerSecond, msPerTask }: AnsweredSchedule): string {
  const rate = bytesPerSecond === null ? '' : ` plus processing at ${formatBytes(bytesPerSecond)}/s`
  const text = `${formatDuration(msPerTask)} per task${rate}`
  return speed === 'measured'
    ? `Times are based on the measured speed of earlier tasks (${text}).`
    : `Times are based on an assumed speed (${text}), because no compaction task succeeded in the last 12 hours.`
}
