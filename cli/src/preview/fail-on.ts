import type { AnsweredSummary, LossName } from '@svc/domain/preview'
import { refuse } from '@svc/domain/validation'
import { countOf } from '../terminal/index.ts'
import { dayOf } from './effects-text.ts'

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

/** Why a preview fails, in one line; undefined if it has none of the effects, now or within its horizon. */
export function failureReason(
  { effects, laterLosses = {} }: Pick<AnsweredSummary, 'effects' | 'laterLosses'>,
  failOn: readonly FailOnName[],
): string | undefined {
  const parts = [...new Set(failOn)].flatMap((name) => {
    const now = effects[name].segments
    const later = laterLosses[name]
    const texts = [
      ...(now > 0 ? [`${countOf(now, 'segment')}${later ? ' now' : ''}`] : []),
      ...(later ? [`${countOf(later.segments, 'segment')} from ${dayOf(later.from)}`] : []),
    ]
    return texts.length === 0 ? [] : [`[${name}] (${texts.join(', and ')})`]
  })
  return parts.length === 0 ? undefined : `Failed because of --fail-on: ${parts.join(', ')}`
}
