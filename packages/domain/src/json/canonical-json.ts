import { finish, sortInSteps } from '../steps/index.ts'
import { jsonListOfTexts, jsonObjectOfTexts } from './compose.ts'

// Number of values between two pauses.
const sliceLength = 4096

/** Options of a canonical text. */
interface CanonicalOptions {
  /** Whether null fields of objects are left out. */
  readonly withoutNulls?: boolean
}

/** Returns the JSON text of a value with the fields of objects sorted, so that equal values have equal texts. */
export const canonicalJson = (value: unknown, options: CanonicalOptions = {}): string =>
  finish(canonicalJsonInSteps(value, options))

/** Returns the same as `canonicalJson`. Pauses regularly. */
export function* canonicalJsonInSteps(
  value: unknown,
  { withoutNulls = false }: CanonicalOptions = {},
): Generator<undefined, string> {
  if (!isStructure(value)) return scalarText(value)
  let count = 0
  function* textOf(structure: object): Generator<undefined, string> {
    if (Array.isArray(structure)) {
      const parts: string[] = []
      let texts: string[] = []
      for (const item of structure) {
        texts.push(isStructure(item) ? yield* textOf(item) : scalarText(item))
        if (++count % sliceLength !== 0) continue
        parts.push(texts.join(','))
        texts = []
        yield
      }
      if (texts.length > 0) parts.push(texts.join(','))
      return jsonListOfTexts(parts)
    }
    const members: [string, string][] = []
    const fields = Object.entries(structure).filter(
      ([, field]) => field !== undefined && !(withoutNulls && field === null),
    )
    for (const [name, field] of yield* sortInSteps(fields, ([a], [b]) => (a < b ? -1 : 1))) {
      members.push([name, isStructure(field) ? yield* textOf(field) : scalarText(field)])
      if (++count % sliceLength === 0) yield
    }
    return jsonObjectOfTexts(members)
  }
  return yield* textOf(value)
}

const isStructure = (value: unknown): value is object => typeof value === 'object' && value !== null

const scalarText = (value: unknown): string => JSON.stringify(value) ?? 'null'
