import type { AnsweredEffects, EffectName } from '@svc/domain/preview'
import { refuse } from '@svc/domain/validation'
import { countOf } from '../terminal/index.ts'

/** Effects that can fail a preview. */
export const failOnNames = [
  'unqueryable',
  'unused',
  'underReplicated',
  'doesNotFit',
] as const satisfies readonly EffectName[]

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

/** Why a preview fails, in one line; undefined if it has none of the effects. */
export function failureReason(effects: AnsweredEffects, failOn: readonly FailOnName[]): string | undefined {
  const found = [...new Set(failOn)].filter((name) => effects[name].segments > 0)
  if (found.length === 0) return undefined
  const parts = found.map((name) => `[${name}] (${countOf(effects[name].segments, 'segment')})`)
  return `Failed because of --fail-on: ${parts.join(', ')}`
}
