import { Failure } from '@svc/domain/failure'
import type { Registry } from 'prom-client'
import type { Role } from '../config/index.ts'
import {
  type BoundedLabel,
  type MetricDefinition,
  type MetricName,
  maxNamedValues,
  metricDefinitions,
} from './definitions.ts'
import { NamedValues } from './named-values.ts'

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
  /** Registers the function that reads the values of a metric at every scrape. */
  observe(name: MetricName, read: () => Iterable<MetricValue> | Promise<Iterable<MetricValue>>): void
  /**
   * Sets the existing values of a bounded label with their sizes. The largest get their own series and keep them as
   * long as they exist; the others share one.
   */
  nameLargest(label: BoundedLabel, sizes: ReadonlyMap<string, number>): void
  /** Returns the metrics of this role in the Prometheus text format. */
  text(): Promise<{ readonly text: string; readonly contentType: string }>
}

interface CountedValue {
  readonly labels: Labels
  value: number
}

/** Returns no values if a store is unavailable: the other metrics matter most at such a time. */
async function readIfThere(read: () => Iterable<MetricValue> | Promise<Iterable<MetricValue>>) {
  try {
    return await read()
  } catch (error) {
    if (error instanceof Failure && error.code === 'unavailable') return []
    throw error
  }
}

const keyOf = (labels: Labels): string => JSON.stringify(Object.values(labels))

/**
 * Keeps counters as plain numbers. The Prometheus library takes 19 MB and 50 ms to load, so a server loads it at its
 * first scrape.
 */
export function createMetrics(role: Role): Metrics {
  const counters = new Map<MetricName, Map<string, CountedValue>>()
  const readers = new Map<MetricName, () => Iterable<MetricValue> | Promise<Iterable<MetricValue>>>()
  let registry: Promise<Registry> | undefined

  const namedOf = new Map(
    Object.entries(maxNamedValues).map(([label, max]) => [label, new NamedValues(max)] as const),
  )

  const boundedLabels = (labels: Labels): Labels => {
    let bounded = labels
    for (const [label, named] of namedOf) {
      const value = labels[label]
      if (value !== undefined) bounded = { ...bounded, [label]: named.nameOf(value) }
    }
    return bounded
  }

  async function valuesOf(name: MetricName): Promise<readonly MetricValue[]> {
    const read = readers.get(name)
    if (!read) return [...(counters.get(name)?.values() ?? [])]
    const { together }: MetricDefinition = metricDefinitions[name]
    const found = new Map<string, CountedValue>()
    for (const { labels = {}, value } of await readIfThere(read)) {
      const bounded = boundedLabels(labels)
      const known = found.get(keyOf(bounded))
      if (!known) found.set(keyOf(bounded), { labels: bounded, value })
      else known.value = together === 'largest' ? Math.max(known.value, value) : known.value + value
    }
    return [...found.values()]
  }

  return {
    count: (name, labels = {}, amount = 1) => {
      const values = counters.get(name) ?? new Map<string, CountedValue>()
      counters.set(name, values)
      const bounded = boundedLabels(labels)
      const known = values.get(keyOf(bounded))
      if (known) known.value += amount
      else values.set(keyOf(bounded), { labels: bounded, value: amount })
    },
    nameLargest: (label, sizes) => {
      const gone = new Set(namedOf.get(label)?.settle(sizes))
      if (gone.size === 0) return
      for (const values of counters.values())
        for (const [key, { labels }] of values) if (gone.has(labels[label] ?? '')) values.delete(key)
    },
    observe: (name, read) => {
      readers.set(name, read)
    },
    text: async () => {
      registry ??= createRegistry(role, valuesOf)
      const created = await registry
      return { text: await created.metrics(), contentType: created.contentType }
    },
  }
}

/** Creates the registry of the Prometheus library for the metrics of a role. `valuesOf` returns their values at a scrape. */
async function createRegistry(
  role: Role,
  valuesOf: (name: MetricName) => Promise<readonly MetricValue[]>,
): Promise<Registry> {
  // A bundle of a CommonJS package has only a default export.
  const { default: prometheus } = await import('prom-client')
  const registry = new prometheus.Registry()
  prometheus.collectDefaultMetrics({ register: registry })
  const definitions = Object.entries(metricDefinitions) as [MetricName, MetricDefinition][]
  for (const [name, { kind, about, labels, roles }] of definitions) {
    if (roles !== 'all' && !roles.split(', ').includes(role)) continue
    const options = { name, help: about, labelNames: [...labels], registers: [registry] }
    const add =
      kind === 'counter'
        ? (
            (metric) => (value: MetricValue) =>
              metric.inc({ ...value.labels }, value.value)
          )(new prometheus.Counter({ ...options, collect: () => collect() }))
        : (
            (metric) => (value: MetricValue) =>
              metric.set({ ...value.labels }, value.value)
          )(new prometheus.Gauge({ ...options, collect: () => collect() }))
    const collect = async () => {
      const values = await valuesOf(name)
      registry.getSingleMetric(name)?.reset()
      values.forEach(add)
    }
  }
  return registry
}
