import type { Endpoint } from '../support/route-tables.ts'
import type { Caller, HostileCase } from './cases.ts'
import { listOfIdentical, manyKeys } from './fillers.ts'
import type { InputClass } from './input-classes.ts'
import { attackedDataSource } from './shaped-bodies.ts'

const MiB = 1024 * 1024

interface NamedCase {
  readonly name: string
  readonly endpoint: string
  readonly caller: Caller
  readonly copies?: number
  readonly text: () => string
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
]

/** Reproductions of known attacks, as cases. */
export function namedCases(endpoints: readonly Endpoint[]): HostileCase[] {
  return named.flatMap(({ name, endpoint: wanted, caller, copies, text }) => {
    const endpoint = endpoints.find(({ role, method, path }) => `${role} ${method} ${path}` === wanted)
    if (!endpoint) return []
    const inputClass: InputClass = {
      part: 'body',
      name,
      isShaped: true,
      build: () => ({ headers: { 'content-type': 'application/json' }, body: Buffer.from(text()) }),
    }
    const sizeBytes = text().length
    return [
      { endpoint, inputClass, sizeBytes, caller, way: 'direct', ...(copies === undefined ? {} : { copies }) },
    ]
  })
}
