import { isJsonObject } from '@svc/domain/validation'
import { differ } from './changes.ts'
import type { SectionKind } from './sections.ts'

// Replicas are the point of a rule, so they are written even if they are the default.
const alwaysWritten = new Set(['type', 'tieredReplicants'])

/** Returns the value of an entry as people would write it: without nulls and defaults, as far as that means the same. */
export function writtenValue(kind: SectionKind, name: string, value: unknown): unknown {
  if (kind !== 'rules') return withoutDefaults(value, (other) => !differ(kind, name, value, other))
  if (!Array.isArray(value)) return value
  return value.map((rule) => {
    const written = withoutDefaults(rule, (other) => !differ('rules', name, [rule], [other]))
    if (!isJsonObject(written)) return written
    const { type, ...fields } = written
    return type === undefined ? written : { type, ...fields }
  })
}

function withoutDefaults(value: unknown, meansTheSame: (other: unknown) => boolean): unknown {
  if (!isJsonObject(value)) return value
  const slim = withoutNullsBelow(value)
  let written = isJsonObject(slim) && meansTheSame(slim) ? slim : value
  for (const field of Object.keys(written)) {
    if (alwaysWritten.has(field)) continue
    const { [field]: _, ...others } = written
    if (meansTheSame(others)) written = others
  }
  return written
}

function withoutNullsBelow(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNullsBelow)
  if (!isJsonObject(value)) return value
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, field]) => field !== null)
      .map(([name, field]) => [name, withoutNullsBelow(field)]),
  )
}
