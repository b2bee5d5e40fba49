import { payloadOf, segmentId, virtualLoadSpec } from '@svc/domain/segment'
import type { Choices } from '../differential/choices.ts'
import type { StoredSegment, WantedServer } from '../differential/state.ts'

/** A cluster, and changes to its rules that are previewed and made from the same state. */
export interface Case {
  readonly servers: readonly WantedServer[]
  readonly segments: readonly StoredSegment[]
  /** Rules by datasource, also `_default`. */
  readonly rules: Rules
  readonly changes: readonly Rules[]
}

/** Rule lists in JSON by datasource. */
export type Rules = Readonly<Record<string, readonly object[]>>

const dayMs = 86_400_000
const mib = 1024 * 1024
const dataSources = ['wikipedia', 'koalas', 'a.b_c']
const tierNames = ['_default_tier', 'hot', 'cold', 'warm']

/** A random cluster of two to four tiers, some of which are nearly full, with changes to its rules. */
export function randomCase(
  choices: Choices,
  now: number,
  serverNames: readonly string[],
  changes: number,
  suffix: number,
): Case {
  const tiers = tierNames.slice(0, choices.whole(2, 4))
  const servers: WantedServer[] = []
  for (const tier of tiers) {
    // About as many bytes as some rules require, or much more.
    const size = choices.chance(0.3) ? choices.whole(20, 60) * mib : 100_000 * mib
    const count = choices.whole(1, 2)
    for (let number = 0; number < count; number++)
      servers.push({ name: serverNames[servers.length]!, type: 'historical', tier, size, priority: 0 })
  }
  // Each case has names of its own: Druid caches what it knows about segments.
  const names = dataSources.slice(0, choices.whole(1, 3)).map((name) => `${name}-${suffix}`)
  const segments = names.flatMap((name) => daysOf(name, choices.whole(10, 50), now))
  const rules = {
    _default: [{ type: 'loadForever', tieredReplicants: { _default_tier: 1 } }],
    ...Object.fromEntries(names.map((name) => [name, randomRules(choices, tiers, now)])),
  }
  return {
    servers,
    segments,
    rules,
    changes: Array.from({ length: changes }, () =>
      Object.fromEntries(
        [choices.one(names), ...choices.some(names, 1)].map((name) => [
          name,
          randomRules(choices, tiers, now),
        ]),
      ),
    ),
  }
}

/** One segment of 1 MiB per day until yesterday. Equal sizes: otherwise a full server has room for some, but not others. */
function daysOf(dataSource: string, days: number, now: number): StoredSegment[] {
  const today = Math.floor(now / dayMs) * dayMs
  return Array.from({ length: days }, (_, index): StoredSegment => {
    const start = today - (index + 1) * dayMs
    const key = {
      dataSource,
      interval: { start, end: start + dayMs },
      version: '2026-01-01T00:00:00.000Z',
      partitionNum: 0,
    }
    const segment = { ...key, id: segmentId(key), partitions: 1, sizeBytes: mib, totalRows: 1 }
    const payload = payloadOf(segment, { loadSpec: virtualLoadSpec, dimensions: 'channel', metrics: 'added' })
    const created = new Date(today).toISOString()
    return { payload, used: true, created }
  })
}

function randomRules(choices: Choices, tiers: readonly string[], now: number): object[] {
  // An empty list means the default rules.
  if (choices.chance(0.08)) return []
  const rules: object[] = []
  const count = choices.whole(0, 2)
  for (let number = 0; number < count; number++) rules.push(randomRule(choices, tiers, now))
  rules.push(
    choices.chance(0.3)
      ? { type: 'dropForever' }
      : { type: 'loadForever', tieredReplicants: randomReplicants(choices, tiers) },
  )
  return rules
}

function randomRule(choices: Choices, tiers: readonly string[], now: number): object {
  const kind = choices.one(['load', 'load', 'load', 'drop'])
  const tieredReplicants = kind === 'load' ? { tieredReplicants: randomReplicants(choices, tiers) } : {}
  if (choices.chance(0.6)) {
    const includeFuture = choices.chance(0.7)
    return {
      type: `${kind}ByPeriod`,
      period: `P${choices.whole(1, 40)}D`,
      includeFuture,
      ...tieredReplicants,
    }
  }
  const dayOf = (days: number) => new Date(now - days * dayMs).toISOString().slice(0, 10)
  const days = choices.whole(2, 45)
  const interval = `${dayOf(days)}/${dayOf(choices.whole(0, days - 1))}`
  return { type: `${kind}ByInterval`, interval, ...tieredReplicants }
}

function randomReplicants(choices: Choices, tiers: readonly string[]): Record<string, number> {
  const named = choices.some(tiers, 2)
  // A typo, a tier without servers, no tier at all, or 0 replicas.
  if (choices.chance(0.1)) named.push(choices.one(['hott', 'archive']))
  return Object.fromEntries(named.map((tier) => [tier, choices.chance(0.08) ? 0 : choices.whole(1, 3)]))
}
