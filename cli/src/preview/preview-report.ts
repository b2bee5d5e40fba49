import type { AnsweredBuckets } from '@svc/domain/preview'
import type { RuleBands } from '../rules/index.ts'
import type { Table } from '../terminal/index.ts'
import { effectsTable, hasLosses, lossSentences } from './effects-text.ts'
import { loadCurves, loadTimeSentences, loadTimeTable } from './load-time-text.ts'
import { stepsTable } from './preview-steps.ts'
import { type AnsweredPreview, leavesOutDatasources, previewTable, tiersTable } from './preview-text.ts'
import { restorableSentences } from './restorable-text.ts'

/** A table of a preview with its heading. */
export interface PreviewDetail {
  readonly heading: string
  readonly table: Table
  /** A picture of characters below the table. */
  readonly picture?: readonly string[]
  /** Sentences below the table, without periods. */
  readonly notes?: readonly string[]
}

/** A preview for people, independent of its format. */
export interface PreviewReport {
  /** When the rules are evaluated. */
  readonly now: string
  /** What is lost, in words. */
  readonly sentences: readonly string[]
  readonly hasLosses: boolean
  readonly effects: Table
  readonly warnings: readonly string[]
  /** Tables with rows, with their headings. */
  readonly details: readonly PreviewDetail[]
  readonly buckets: AnsweredBuckets | undefined
  readonly bands: RuleBands | undefined
  /** Why the picture of the data shows no rules; empty if it shows them. */
  readonly noBands: readonly string[]
}

const nothingLater = 'No further changes are expected within the horizon.'

/** What a report contains in addition to the answer. */
interface ReportOptions {
  readonly more?: readonly PreviewDetail[]
  /** How to load unused segments that the rules keep. */
  readonly unusedHint?: string
}

/**
 * Returns what a preview shows to people: first what is lost, then warnings, then the details. `bands` are which rule applies over
 * time, or the reason why they are unknown.
 */
export function reportOf(
  answer: AnsweredPreview,
  bands: RuleBands | string | undefined,
  { more = [], unusedHint = 'To include unused segments, add --mark-used' }: ReportOptions = {},
): PreviewReport {
  const { summary, warnings, now } = answer
  const { loadTime } = summary
  const later = stepsTable(answer)
  const details: PreviewDetail[] = [
    { heading: 'Replicas by tier', table: previewTable(answer) },
    { heading: 'Tiers', table: tiersTable(answer) },
    ...(loadTime
      ? [
          {
            heading: 'Load time',
            table: loadTimeTable(loadTime),
            picture: loadCurves(loadTime),
            notes: loadTime.assumptions,
          },
        ]
      : []),
    ...more,
    { heading: 'Later changes', table: later },
  ]
  return {
    now,
    sentences: [
      ...lossSentences(summary, leavesOutDatasources(answer)),
      ...(summary.restorable ? restorableSentences(summary.restorable) : []),
      ...(loadTime ? loadTimeSentences(loadTime) : []),
      ...(summary.steps !== undefined && later.rows.length === 0 ? [nothingLater] : []),
    ],
    hasLosses: hasLosses(summary),
    effects: effectsTable(summary.effects, summary.datasources),
    warnings: warnings.map(({ type, message, sum }) => {
      if (type === 'unusedSegmentsStay') return `${message}. ${unusedHint}`
      if (type === 'requestedSegmentsStay') return `${message}. To mark segments as used, run ./svc mark-used`
      return sum === undefined
        ? message
        : `${message}. If you meant [${sum}], change the longest of these periods to [${sum}]`
    }),
    details: details.filter(({ table }) => table.rows.length > 0),
    buckets: summary.buckets,
    bands: typeof bands === 'string' ? undefined : bands,
    noBands: typeof bands === 'string' ? [bands] : [],
  }
}
