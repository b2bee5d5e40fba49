/** The metrics of a server: their definitions, their values, and the output for Prometheus. */
export { maxNamedValues, metricDefinitions } from './definitions.ts'
export { createMetrics, type Metrics, type MetricValue } from './metrics.ts'
export { metricsDocument } from './metrics-document.ts'
export { otherValues } from './named-values.ts'
