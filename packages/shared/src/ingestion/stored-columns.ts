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

/** Returns the type of a metric before and after aggregation; undefined for a count, which has no column. */
export function metricValueType({ type }: Pick<MetricSpec, 'type'>): StoredType | undefined {
  if (type === 'count') return undefined
  return type.startsWith('long') ? 'long' : type.startsWith('double') ? 'double' : 'float'
}

const listDimensions = 'List the dimensions to ingest in [spec.dataSchema.dimensionsSpec.dimensions]'

function checkNames(names: readonly string[], spec: IndexSpec): void {
  const metrics = new Set(spec.metrics.map(({ name }) => name))
  const taken = new Map([...metrics].map((name) => [name.toLowerCase(), name]))
  for (const name of names) {
    if (name === '') throw invalidInput(`The input has a column without a name. ${listDimensions}`)
    if (hasControlCharacter(name)) {
      throw invalidInput(
        `Invalid column name [${escapeControlCharacters(name)}] in the input: expected a name without control characters. ${listDimensions}`,
      )
    }
    const other = taken.get(name.toLowerCase())
    if (other !== undefined) {
      const both = metrics.has(other)
        ? `Column [${name}] of the input and metric [${other}]`
        : `Columns [${other}] and [${name}] of the input`
      throw invalidInput(`${both} differ only in case. ${listDimensions}`)
    }
    taken.set(name.toLowerCase(), name)
  }
}

/**
 * Returns the dimensions that the task stores: those it names, or, as in Druid, every column of the input that is not
 * the timestamp, excluded, or used by a metric, with the type that fits all its values.
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
  const undeclared = names.filter((name) => relation.columns.get(name)?.type === 'VARCHAR')
  const kinds = undeclared.flatMap((name, index) => {
    const column = relation.columns.get(name)
    return column === undefined ? [] : [`${kindsSql(column)} AS k${index}`]
  })
  const [found = {}] =
    kinds.length === 0
      ? []
      : await engine.rows(`SELECT ${kinds.join(', ')} FROM ${relation.from} WHERE NOT ${relation.broken}`)
  return names.map((name) => {
    const place = undeclared.indexOf(name)
    if (place < 0) return { name, type: storedTypeOf(relation.columns.get(name)?.type ?? 'VARCHAR') }
    return { name, type: storedTypeOfKinds(Number(found[`k${place}`])) }
  })
}
