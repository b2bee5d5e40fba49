/** The metrics of a server: their definitions, their values, and the output for Prometheus. */
export { metricDefinitions } from './definitions.ts'
export { createMetrics, type Metrics, type MetricValue } from './metrics.ts'
export { metricsDocument } from './metrics-document.ts'
