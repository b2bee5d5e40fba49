import type { Role } from '../config/index.ts'
import { type MetricDefinition, type MetricName, metricDefinitions } from './definitions.ts'

export type Labels = Readonly<Record<string, string>>

/** One value of a metric. */
export interface MetricValue {
  readonly labels?: Labels
  readonly value: number
}

/** The metrics of one server. */
export interface Metrics {
  /** Adds to a counter. */
  count(name: MetricName, labels?: Labels, amount?: number): void
  /** Names where the values of a metric are read at every scrape. */
  observe(name: MetricName, read: () => Iterable<MetricValue> | Promise<Iterable<MetricValue>>): void
  /** The metrics of this role in the text format of Prometheus. */
  text(): Promise<{ readonly text: string; readonly contentType: string }>
}

// Of what there may be any number of (datasources), the largest are told by name and the rest as one.
const mostNamed = 200

/** The values with at most 200 label sets: the largest ones, and the sum of the others with the labels `other`. */
function bounded(values: Iterable<MetricValue>): MetricValue[] {
  const sorted = [...values].sort((left, right) => right.value - left.value)
  if (sorted.length <= mostNamed) return sorted
  const rest = sorted.slice(mostNamed - 1)
  const labels = Object.fromEntries(Object.keys(rest[0]?.labels ?? {}).map((label) => [label, 'other']))
  const value = rest.reduce((sum, one) => sum + one.value, 0)
  return [...sorted.slice(0, mostNamed - 1), { labels, value }]
}

/**
 * Keeps counters as plain numbers. The library that writes the text takes 19 MB and 50 ms to load, so a server that
 * is never scraped does without it.
 */
export function createMetrics(role: Role): Metrics {
  const counters = new Map<MetricName, Map<string, { labels: Labels; value: number }>>()
  const readers = new Map<MetricName, () => Iterable<MetricValue> | Promise<Iterable<MetricValue>>>()
  let registry: ReturnType<typeof createRegistry> | undefined

  async function valuesOf(name: MetricName): Promise<readonly MetricValue[]> {
    const read = readers.get(name)
    return bounded(read ? await read() : (counters.get(name)?.values() ?? []))
  }

  async function createRegistry() {
    const { Counter, Gauge, Registry, collectDefaultMetrics } = await import('prom-client')
    const made = new Registry()
    collectDefaultMetrics({ register: made })
    const definitions = Object.entries(metricDefinitions) as [MetricName, MetricDefinition][]
    for (const [name, { kind, about, labels, roles }] of definitions) {
      if (roles !== 'all' && !roles.split(', ').includes(role)) continue
      const options = { name, help: about, labelNames: [...labels], registers: [made] }
      const add =
        kind === 'counter'
          ? (
              (metric) => (value: MetricValue) =>
                metric.inc({ ...value.labels }, value.value)
            )(new Counter({ ...options, collect: () => collect() }))
          : (
              (metric) => (value: MetricValue) =>
                metric.set({ ...value.labels }, value.value)
            )(new Gauge({ ...options, collect: () => collect() }))
      const collect = async () => {
        const values = await valuesOf(name)
        made.getSingleMetric(name)?.reset()
        values.forEach(add)
      }
    }
    return made
  }

  return {
    count: (name, labels = {}, amount = 1) => {
      const values = counters.get(name) ?? new Map<string, { labels: Labels; value: number }>()
      counters.set(name, values)
      const key = Object.values(labels).join('\n')
      const known = values.get(key)
      if (known) known.value += amount
      else values.set(key, { labels, value: amount })
    },
    observe: (name, read) => {
      readers.set(name, read)
    },
    text: async () => {
      registry ??= createRegistry()
      const made = await registry
      return { text: await made.metrics(), contentType: made.contentType }
    },
  }
}
