/** The types of dimensions. */
export const dimensionTypes = ['string', 'long', 'float', 'double'] as const
/** The type of a dimension. */
export type DimensionType = (typeof dimensionTypes)[number]

/** The types of metrics: how they are aggregated. */
export const metricTypes = [
  'count',
  'longSum',
  'doubleSum',
  'floatSum',
  'longMin',
  'longMax',
  'doubleMin',
  'doubleMax',
  'floatMin',
  'floatMax',
] as const
/** The type of a metric: how it is aggregated. */
export type MetricType = (typeof metricTypes)[number]
