/** What can be watched of a server: metrics as data, their values, and the text that Prometheus reads. */
export { metricDefinitions } from './definitions.ts'
export { createMetrics, type Labels, type Metrics, type MetricValue } from './metrics.ts'
export { metricsDocument } from './metrics-document.ts'
