/** The types that a dimension may be given. */
export const dimensionTypes = ['string', 'long', 'float', 'double'] as const
/** The type of a dimension. */
export type DimensionType = (typeof dimensionTypes)[number]

/** The ways in which a metric can be aggregated. */
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
/** The way in which a metric is aggregated. */
export type MetricType = (typeof metricTypes)[number]
