import { differences, invalidInput } from './differences.ts'
import { differingParts, normalize } from './exchange.ts'
import type { SeedResult, SpentMs, UnlistedDifference } from './run-seed.ts'

/** What a run found, as it is written to the report. */
export interface Report {
  readonly seeds: readonly number[]
  /** Seeds whose state could not be built, or whose requests could not be sent. */
  readonly failedSeeds: readonly number[]
  readonly requests: number
  readonly unsettled: number
  readonly spentMs: SpentMs
  /** Number and share of the requests in percent, by the name of the listed difference. */
  readonly listed: Readonly<Record<string, { readonly requests: number; readonly percent: number }>>
  /** Listed differences that cover too many requests; none in a short run. */
  readonly tooFrequent: readonly string[]
  readonly unlisted: readonly unknown[]
}

/** Except for invalid input, a listed difference may cover at most this share of the requests. */
export const maxPercent = 2

/** Shorter runs say nothing about shares: one seed may send most of its requests to one endpoint. */
export const minRequestsForShares = 2000

/** Summarizes the results of all seeds. `minimized` are the unlisted differences to show. */
export function summarize(
  results: readonly SeedResult[],
  minimized: readonly UnlistedDifference[],
  failedSeeds: readonly number[],
): Report {
  const total = (figure: (result: SeedResult) => number) =>
    results.reduce((sum, result) => sum + figure(result), 0)
  const requests = total((result) => result.requests)
  const listed = Object.fromEntries(
    differences.map(({ name }) => {
      const count = total((result) => result.listed.get(name) ?? 0)
      return [name, { requests: count, percent: Math.round((10_000 * count) / requests) / 100 }]
    }),
  )
  return {
    seeds: results.map(({ seed }) => seed),
    failedSeeds,
    requests,
    unsettled: total(({ unsettled }) => unsettled),
    spentMs: {
      state: total(({ spentMs }) => spentMs.state),
      duties: total(({ spentMs }) => spentMs.duties),
      requests: total(({ spentMs }) => spentMs.requests),
    },
    listed,
    tooFrequent: requests < minRequestsForShares ? [] : frequentNames(listed),
    unlisted: minimized.map(describe),
  }
}

const frequentNames = (listed: Report['listed']): string[] =>
  Object.entries(listed)
    .filter(([name, { percent }]) => name !== invalidInput && percent > maxPercent)
    .map(([name]) => name)

/** Whether all seeds ran, and all differences are listed and rare enough. */
export const hasPassed = ({ failedSeeds, unlisted, tooFrequent }: Report): boolean =>
  failedSeeds.length + unlisted.length + tooFrequent.length === 0

/** Returns a difference as it is shown and written. */
export function describe({ seed, exchange, changes }: UnlistedDifference) {
  const { request, druid, svc, state } = exchange
  return {
    differences:
      druid.status === svc.status
        ? Array.from(differingParts(normalize(druid, request, state), normalize(svc, request, state))).slice(
            0,
            maxParts,
          )
        : [`status: Druid ${druid.status}, svc ${svc.status}`],
    seed,
    request,
    changes,
    druid: {
      status: druid.status,
      body: shown(druid.status < 400 ? normalize(druid, request, state) : druid.text),
    },
    svc: { status: svc.status, body: shown(svc.status < 400 ? normalize(svc, request, state) : svc.text) },
  }
}

const maxParts = 6
const maxShownLength = 1000
const shown = (value: unknown): string => JSON.stringify(value)?.slice(0, maxShownLength) ?? ''

/** What makes two unlisted differences the same for a reader: the endpoint and both statuses. */
export const kindOf = ({ exchange }: UnlistedDifference): string =>
  `${exchange.request.endpoint}: Druid ${exchange.druid.status}, svc ${exchange.svc.status}`
