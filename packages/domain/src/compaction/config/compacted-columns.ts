import { invalidInput } from '../../failure/index.ts'
import { type DimensionSchema, type MetricSchema, readDimensions, readMetrics } from '../../specs/index.ts'
import { converted, optional, type Reader, readFields, refuse } from '../../validation/index.ts'

function assertDistinct(columns: readonly { readonly name: string }[], field: string): void {
  const taken = new Set<string>()
  for (const { name } of columns) {
    // Readers and writers treat names that differ only in case as one column.
    if (taken.has(name.toLowerCase())) {
      throw invalidInput(`Duplicate column [${name}] in [${field}]: expected each column only once`, {
        field,
      })
    }
    taken.add(name.toLowerCase())
  }
}

/** Reads a dimensionsSpec. Without dimensions, columns stay unchanged. */
export const readDimensionsSpec: Reader<{ readonly dimensions: readonly DimensionSchema[] | null }> =
  converted(readFields({ dimensions: optional(readDimensions) }), (spec, field) => {
    assertDistinct(spec.dimensions ?? [], `${field}.dimensions`)
    return spec
  })

/** Reads a metricsSpec. Only stored columns are aggregated, which excludes the timestamp. */
export const readMetricsSpec: Reader<readonly MetricSchema[]> = converted(readMetrics, (metrics, field) => {
  for (const [index, { type, fieldName }] of metrics.entries()) {
    const place = `${field}[${index}].fieldName`
    if (type === 'count' && fieldName !== undefined)
      throw refuse(place, fieldName, 'no value for a metric of type [count]')
    if (fieldName?.toLowerCase() === '__time')
      throw refuse(place, fieldName, 'a name other than [__time], which is the timestamp column')
  }
  assertDistinct(metrics, field)
  return metrics
})
