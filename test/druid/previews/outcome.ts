import type { HttpClient } from '@svc/shared/testing'

/** What a rule change leads to, by datasource. */
export type Outcome = Readonly<Record<string, DatasourceOutcome>>

interface DatasourceOutcome {
  /** Number of replicas by tier; no entry for 0. */
  readonly copies: CopiesByTier
  readonly used: number
  /** Segments of the state before the change that have no replica afterward. */
  readonly unqueryable: number
  /** Number of replicas of each of these segments by tier, by interval. */
  readonly segments: Readonly<Record<string, CopiesByTier>>
}

type CopiesByTier = Readonly<Record<string, number>>

/** The part of a preview that the harness reads. */
export interface Preview {
  readonly segments: readonly {
    readonly dataSource: string
    readonly interval: string
    readonly loaded: CopiesByTier
  }[]
  readonly summary: { readonly datasources: Readonly<Record<string, PreviewedDatasource>> }
}

interface PreviewedDatasource {
  readonly tiers: Readonly<Record<string, { readonly after: { readonly copies: number } }>>
  readonly effects: Readonly<Record<'unqueryable' | 'unused' | 'overshadowed', { readonly segments: number }>>
}

const sorted = (counts: Iterable<readonly [string, number]>): CopiesByTier =>
  Object.fromEntries([...counts].filter(([, count]) => count > 0).sort())

/** The outcome that a preview predicts for these datasources. */
export function predictedOutcome({ segments, summary }: Preview, names: readonly string[]): Outcome {
  return Object.fromEntries(
    names.map((name) => {
      const found = summary.datasources[name]
      if (!found) throw new Error(`The preview does not have [${name}]`)
      const { tiers, effects } = found
      const own = segments.filter(({ dataSource }) => dataSource === name)
      return [
        name,
        {
          copies: sorted(Object.entries(tiers).map(([tier, { after }]) => [tier, after.copies])),
          used: own.length - effects.unused.segments - effects.overshadowed.segments,
          unqueryable: effects.unqueryable.segments,
          segments: Object.fromEntries(
            own.map(({ interval, loaded }) => [interval, sorted(Object.entries(loaded))]),
          ),
        },
      ]
    }),
  )
}

/** A segment as a cluster lists it. */
export interface ListedSegment {
  readonly dataSource: string
  readonly interval: string
  readonly identifier: string
}

/** The outcome that a cluster has now for these datasources. `before` are the segments before the change. */
export async function measuredOutcome(
  client: HttpClient,
  before: readonly ListedSegment[],
  names: readonly string[],
): Promise<Outcome> {
  const base = '/druid/coordinator/v1'
  const servers = await client.get<{ host: string; tier: string }[]>(`${base}/servers?simple`)
  const served = await Promise.all(
    servers.map(async ({ host, tier }) => ({
      tier,
      segments: new Set(await client.get<string[]>(`${base}/servers/${encodeURIComponent(host)}/segments`)),
    })),
  )
  const used = await client.get<{ dataSource: string }[]>(`${base}/metadata/segments`)
  return Object.fromEntries(
    names.map((name) => {
      const segments = before.filter(({ dataSource }) => dataSource === name)
      const copies = new Map<string, number>()
      const bySegment = segments.map(({ interval, identifier }) => {
        const own = new Map<string, number>()
        for (const { tier, segments: has } of served) {
          if (!has.has(identifier)) continue
          own.set(tier, (own.get(tier) ?? 0) + 1)
          copies.set(tier, (copies.get(tier) ?? 0) + 1)
        }
        return [interval, sorted(own)] as const
      })
      return [
        name,
        {
          copies: sorted(copies),
          used: used.filter(({ dataSource }) => dataSource === name).length,
          unqueryable: bySegment.filter(([, own]) => Object.keys(own).length === 0).length,
          segments: Object.fromEntries(bySegment),
        },
      ]
    }),
  )
}

/** Returns an outcome without its single segments. */
export const countsOf = (outcome: Outcome): object =>
  Object.fromEntries(Object.entries(outcome).map(([name, { segments: _, ...counts }]) => [name, counts]))

/** Returns the segments of two outcomes that differ, as text. */
export function differingSegments(predicted: Outcome, measured: Outcome): string[] {
  return Object.entries(predicted).flatMap(([name, { segments }]) =>
    Object.entries(segments).flatMap(([interval, copies]) => {
      const [left, right] = [copies, measured[name]?.segments[interval]].map((one) => JSON.stringify(one))
      return left === right ? [] : [`${name} ${interval}: predicted ${left}, Druid ${right}`]
    }),
  )
}
