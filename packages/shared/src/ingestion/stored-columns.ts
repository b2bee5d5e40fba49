import { invalidInput } from '@svc/domain/failure'
import { escapeControlCharacters, hasControlCharacter } from '@svc/domain/validation'
import type { Engine } from './engine.ts'
import type { IndexSpec, MetricSpec } from './index-spec.ts'
import type { Input } from './input-relation.ts'
import { kindsSql, type StoredType, storedTypeOf, storedTypeOfKinds } from './stored-value.ts'

/** A dimension as it is stored. */
export interface StoredDimension {
  readonly name: string
  readonly type: StoredType
}

/** The type that a metric has before and after it is aggregated; a count has no column. */
export function metricValueType({ type }: Pick<MetricSpec, 'type'>): StoredType | undefined {
  if (type === 'count') return undefined
  return type.startsWith('long') ? 'long' : type.startsWith('double') ? 'double' : 'float'
}

function checkNames(names: readonly string[], spec: IndexSpec): void {
  const taken = new Map(spec.metrics.map(({ name }) => [name.toLowerCase(), name]))
  for (const name of names) {
    if (name === '')
      throw invalidInput('The input has a column without a name; name the dimensions to ingest')
    if (hasControlCharacter(name)) {
      throw invalidInput(
        `Invalid name of a column [${escapeControlCharacters(name)}] in the input: expected a name without control characters. List the dimensions to ingest.`,
      )
    }
    const other = taken.get(name.toLowerCase())
    if (other !== undefined) {
      throw invalidInput(
        `Columns[${other}] and [${name}] of the input differ only in case; name the dimensions to ingest`,
      )
    }
    taken.set(name.toLowerCase(), name)
  }
}

/**
 * The dimensions that the task stores: those it names, else every column of the input that is not the timestamp,
 * excluded, or used by a metric (as the recorded system does), with the type that all its values have.
 */
export async function storedDimensions(
  spec: IndexSpec,
  input: Input,
  engine: Engine,
): Promise<readonly StoredDimension[]> {
  if (spec.dimensions.length > 0) return spec.dimensions
  const left = new Set([
    '__time',
    spec.timestamp.column,
    ...spec.dimensionExclusions,
    ...spec.metrics.flatMap(({ name, fieldName }) => [name, fieldName]),
  ])
  const names = (await input.discoverColumns()).filter((name) => !left.has(name))
  checkNames(names, spec)
  const relation = input.relation(input.files, names, 'skip')
  const untold = names.filter((name) => relation.columns.get(name)?.type === 'VARCHAR')
  const kinds = untold.flatMap((name, index) => {
    const column = relation.columns.get(name)
    return column === undefined ? [] : [`${kindsSql(column)} AS k${index}`]
  })
  const [found = {}] =
    kinds.length === 0
      ? []
      : await engine.rows(`SELECT ${kinds.join(', ')} FROM ${relation.from} WHERE NOT ${relation.broken}`)
  return names.map((name) => {
    const place = untold.indexOf(name)
    if (place < 0) return { name, type: storedTypeOf(relation.columns.get(name)?.type ?? 'VARCHAR') }
    return { name, type: storedTypeOfKinds(Number(found[`k${place}`])) }
  })
}
