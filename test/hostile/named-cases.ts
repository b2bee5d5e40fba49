import { basicAuthorization } from '@svc/shared/testing'
import type { Endpoint } from '../support/route-tables.ts'
import type { Caller, HostileCase, Way } from './cases.ts'
import { listOfIdentical, manyKeys } from './fillers.ts'
import type { HostileInput, InputClass } from './input-classes.ts'
import { attackedDataSource } from './shaped-bodies.ts'

const MiB = 1024 * 1024

interface NamedCase {
  readonly name: string
  readonly endpoint: string
  readonly caller: Caller
  readonly way?: Way
  readonly copies?: number
  /** The body; none by default. */
  readonly text?: () => string
  readonly input?: Omit<HostileInput, 'body'>
}

const rule =
  '{"type":"loadByInterval","interval":"2026-01-01/2026-01-02","tieredReplicants":{"_default_tier":1}}'
const identicalRules = (count: number): string => `[${`${rule},`.repeat(count - 1)}${rule}]`
const task = 'overlord POST /svc/indexer/v1/task'
const rules = 'coordinator POST /svc/coordinator/v1/rules/:dataSource'

/** Requests that used to crash a server or block it for seconds. */
const named: readonly NamedCase[] = [
  { name: '2.5 million keys', endpoint: task, caller: 'no permission', text: () => manyKeys()(24 * MiB) },
  {
    name: '64 MiB of keys',
    endpoint: task,
    caller: 'no permission',
    text: () => manyKeys('"aaaaaaaaaaaaaa"')(64 * MiB),
  },
  { name: '4.9 MB of keys', endpoint: task, caller: 'no permission', text: () => manyKeys()(4_900_000) },
  ...(['no permission', 'admin'] as const).map((caller) => ({
    name: '5 MB of empty lists',
    endpoint: task,
    caller,
    text: () => `{"type":"index_parallel","spec":{"x":${listOfIdentical('[]')(5_000_000)}}}`,
  })),
  {
    name: 'twenty bodies of 30 MB at once',
    endpoint: task,
    caller: 'no permission',
    copies: 20,
    text: () => manyKeys()(30_000_000),
  },
  {
    name: '300,000 empty parameters',
    endpoint: 'broker POST /svc/v2/sql',
    caller: 'no permission',
    text: () => `{"query":"select 1","parameters":${listOfIdentical('{}')(900_000)}}`,
  },
  {
    name: '80,000 intervals',
    endpoint: 'broker POST /svc/v2',
    caller: 'one datasource',
    text: () =>
      JSON.stringify({
        queryType: 'scan',
        dataSource: attackedDataSource,
        intervals: Array.from({ length: 80_000 }, (_, index) => `${1000 + (index % 1000)}/P1D`),
      }),
  },
  ...[2000, 4000, 9500].map((count) => ({
    name: `${count} identical rules`,
    endpoint: rules,
    caller: 'one datasource' as const,
    text: () => identicalRules(count),
  })),
  {
    name: '9500 identical rules to preview',
    endpoint: 'coordinator POST /svc/coordinator/v1/rules/simulate',
    caller: 'admin',
    text: () => `{"rules":{"${attackedDataSource}":${identicalRules(9500)}}}`,
  },
  {
    name: 'chunks of one byte on 60 connections',
    endpoint: rules,
    caller: 'anonymous',
    copies: 60,
    text: () => ' '.repeat(MiB),
    input: { manner: 'tiny chunks' },
  },
  {
    name: 'chunks of one byte on 8 connections',
    endpoint: task,
    caller: 'one datasource',
    way: 'router',
    copies: 8,
    text: () => ' '.repeat(MiB),
    input: { manner: 'tiny chunks' },
  },
  ...['historical', 'broker'].map((role) => ({
    name: 'ten times 2,000 requests at once',
    endpoint: `${role} GET /status/health`,
    caller: 'anonymous' as const,
    copies: 10,
    input: { manner: 'pipelined' as const, count: 2000 },
  })),
  {
    name: '2,000 wrong logins at once',
    endpoint: 'coordinator GET /status',
    caller: 'anonymous',
    input: {
      headers: { authorization: basicAuthorization('nosuchuser:wrong-password') },
      manner: 'pipelined',
      count: 2000,
    },
  },
  {
    name: '1,000 idle connections',
    endpoint: 'router GET /status/health',
    caller: 'anonymous',
    copies: 1000,
    input: { manner: 'idle' },
  },
]

/** Reproductions of known attacks, as cases. */
export function namedCases(endpoints: readonly Endpoint[]): HostileCase[] {
  return named.flatMap(({ name, endpoint: wanted, caller, way = 'direct', copies, text, input }) => {
    const endpoint = endpoints.find(({ role, method, path }) => `${role} ${method} ${path}` === wanted)
    if (!endpoint) return []
    const headers = text === undefined ? {} : { 'content-type': 'application/json' }
    const inputClass: InputClass = {
      part: 'body',
      name,
      isShaped: true,
      build: () => ({ headers, ...input, ...(text === undefined ? {} : { body: Buffer.from(text()) }) }),
    }
    const sizeBytes = text?.().length ?? 0
    return [
      {
        ...{ endpoint, inputClass, sizeBytes, caller, way },
        ...(copies === undefined ? {} : { copies }),
      },
    ]
  })
}
