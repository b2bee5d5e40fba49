import type { AnsweredEffect, AnsweredLaterLoss, AnsweredSummary, LossName } from '@svc/domain/preview'
import { refuse } from '@svc/domain/validation'
import { countOf } from '../terminal/index.ts'
import { dayOf } from './effects-text.ts'
import { type AnsweredPreview, leavesOutDatasources } from './preview-text.ts'

/** Effects that can fail a preview. */
export const failOnNames = [
  'unqueryable',
  'unused',
  'underReplicated',
  'doesNotFit',
] as const satisfies readonly LossName[]

/** An effect that can fail a preview. */
export type FailOnName = (typeof failOnNames)[number]

/** Parses a comma-separated list of effects. Throws invalidInput for any other name. */
export function parseFailOn(text: string): FailOnName[] {
  return text.split(',').map((part) => {
    const name = failOnNames.find((known) => known === part.trim())
    if (name === undefined) throw refuse('--fail-on', part.trim(), `one of [${failOnNames.join(', ')}]`)
    return name
  })
}

/** What decides whether a preview fails. */
interface FailingPreview extends Pick<AnsweredPreview, 'warnings'> {
  readonly summary: Pick<AnsweredSummary, 'effects' | 'laterLosses'>
}

/**
 * Why a preview fails, in one line; undefined if it has none of the effects, now or within its horizon. A preview that leaves
 * out datasources may hide effects, so it fails.
 */
export function failureReason(preview: FailingPreview, failOn: readonly FailOnName[]): string | undefined {
  const { effects, laterLosses = {} } = preview.summary
  const parts = [...new Set(failOn)].flatMap((name) => {
    const now = effects[name].segments
    const later = laterLosses[name]
    const texts = [
      ...(now > 0 ? [`${countOf(now, 'segment')}${later ? ' now' : ''}`] : []),
      ...(later ? [`${laterText(effects[name], later)} from ${dayOf(later.from)}`] : []),
    ]
    return texts.length === 0 ? [] : [`[${name}] (${texts.join(', and ')})`]
  })
  if (failOn.length > 0 && leavesOutDatasources(preview))
    parts.push('the effects on datasources that this user may not read are unknown')
  return parts.length === 0 ? undefined : `Failed because of --fail-on: ${parts.join(', ')}`
}

/** How many segments are affected later: of lost segments, those that are not affected now. */
const laterText = (now: AnsweredEffect, later: AnsweredLaterLoss): string =>
  later.added === undefined || now.segments === 0
    ? countOf(later.segments, 'segment')
    : countOf(later.added.segments, 'more segment')
