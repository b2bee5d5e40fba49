// The OpenAPI document accepts every body that svc accepts, where its schema is separate from the parser. The
// bodies are recorded ones, with each of their parts removed, replaced with a value of another type, or added
// to.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, it } from 'node:test'
import { parsePermissions } from '@svc/domain/access'
import { parseClusterConfig, parseCompactionConfig, parseCompactionPreview } from '@svc/domain/compaction'
import { faultKinds, parseFaultRequest } from '@svc/domain/faults'
import { parsePreviewRequest } from '@svc/domain/preview'
import { parseRules } from '@svc/domain/rules'
import { finish } from '@svc/domain/steps'
import { countNamePatternSteps } from '@svc/shared/security'
import { parseCompactSpec } from '@svc/shared/tasks'
import { operationOf, problemOfBody, problemOfShape } from './support/check-answer.ts'

const fixtures = path.join(import.meta.dirname, 'fixtures')

interface Step {
  readonly at?: string
  readonly request: { readonly method: string; readonly path: string; readonly body?: unknown }
  readonly expect: { readonly status: number }
}

const scenarios = [
  'retention-rules',
  'compaction-config',
  'compaction-supervisors',
  'operations',
  ...['authentication', 'group-mappings', 'roles-permissions', 'setup', 'users'].map(
    (name) => `security/${name}`,
  ),
]
const steps = scenarios.flatMap((name) => {
  const text = readFileSync(path.join(fixtures, 'conformance', `${name}.json`), 'utf8')
  return (JSON.parse(text) as { readonly steps: readonly Step[] }).steps
})
const vectors = (name: string): Record<string, unknown>[] =>
  readFileSync(path.join(fixtures, 'vectors', `${name}.jsonl`), 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>)

/** The recorded bodies of paths, whether they were accepted or refused. */
const recorded = (place: RegExp): unknown[] =>
  steps.flatMap(({ request: { path: requested, body } }) =>
    place.test(requested) && body !== undefined ? [body] : [],
  )

it('every recorded body that was accepted matches the document', () => {
  let checked = 0
  for (const { at, request, expect } of steps) {
    const isOfCoordinator = at === 'coordinator' && request.path.startsWith('/svc-ext/')
    const operation = operationOf(
      request.method,
      `${isOfCoordinator ? '/proxy/coordinator' : ''}${request.path}`,
    )
    if (request.body === undefined || expect.status !== 200 || !operation) continue
    checked += 1
    assert.equal(
      problemOfBody(operation, request.body),
      undefined,
      `${request.path}: ${JSON.stringify(request.body)}`,
    )
  }
  assert.ok(checked > 60, String(checked))
})

/** A change to a document, and its kind. */
interface Changed {
  readonly kind: 'removed part' | 'different type' | 'unknown field'
  readonly json: unknown
}

const otherValues: readonly unknown[] = [null, true, -1, 0.5, 'other', [], {}]

/** The document with each of its parts, one at a time, removed, replaced, or added to. */
function* changesOf(json: unknown): Generator<Changed> {
  for (const value of otherValues) yield { kind: 'different type', json: value }
  if (Array.isArray(json)) {
    for (const [index, item] of json.entries())
      for (const { kind, json: changed } of changesOf(item)) yield { kind, json: json.with(index, changed) }
  } else if (typeof json === 'object' && json !== null) {
    yield { kind: 'unknown field', json: { ...json, unknownField: 1 } }
    for (const [name, value] of Object.entries(json)) {
      const { [name]: _, ...others } = json as Record<string, unknown>
      yield { kind: 'removed part', json: others }
      for (const { kind, json: changed } of changesOf(value))
        yield { kind, json: { ...json, [name]: changed } }
    }
  }
}

const compactionVectors = vectors('compaction').slice(0, 40)
const configs = compactionVectors.flatMap(({ configs: named }) => Object.values(named as object))
const shapes: readonly {
  readonly name: string
  /** Whether the document is a list of this shape. */
  readonly isList?: boolean
  readonly parse: (json: unknown) => unknown
  readonly bodies: readonly unknown[]
}[] = [
  {
    name: 'Rule',
    isList: true,
    parse: (json) => parseRules(json),
    bodies: [
      ...recorded(/\/rules\//),
      ...vectors('rules')
        .slice(0, 120)
        .map(({ rule }) => [rule]),
    ],
  },
  {
    name: 'Permission',
    isList: true,
    parse: (json) => parsePermissions(json, countNamePatternSteps),
    bodies: recorded(/\/permissions$/),
  },
  {
    name: 'CompactionConfig',
    parse: (json) => parseCompactionConfig(json),
    bodies: [...recorded(/config\/(compaction$|datasources)/), ...configs],
  },
  {
    name: 'ClusterCompactionConfig',
    parse: (json) => parseClusterConfig(json),
    bodies: recorded(/config\/cluster$/),
  },
  {
    name: 'RulesPreviewRequest',
    parse: (json) => finish(parsePreviewRequest(json, 0)),
    bodies: vectors('tiers')
      .slice(0, 12)
      .map(({ now, rules, servers, segments }, index) => ({
        now,
        rules: index % 2 === 0 ? rules : { wiki: rules },
        defaultRules: rules,
        servers: (servers as object[]).slice(0, 1),
        segments: (segments as { interval: string }[])
          .slice(0, 1)
          .map(({ interval }) => ({ interval, size: 1 })),
        horizon: 'P1Y',
      })),
  },
  {
    name: 'CompactionPreviewRequest',
    parse: (json) => parseCompactionPreview(json),
    bodies: compactionVectors.slice(0, 10).map(({ policy, segments }, index) => ({
      clusterConfig: { compactionPolicy: policy },
      compactionConfigs: [configs[index]],
      segments: (segments as object[]).slice(0, 1),
    })),
  },
  {
    name: 'FaultRequest',
    parse: (json) => parseFaultRequest(json, { roles: ['broker'], servers: [] }),
    bodies: faultKinds.map((kind) => ({ kind, target: 'broker', probability: 0.5, delayMs: 5, forMs: 1000 })),
  },
  {
    name: 'CompactTask',
    parse: (json) => parseCompactSpec(json),
    bodies: [
      { type: 'interval', interval: '2026-01-01/2026-02-01' },
      { type: 'uncompacted', interval: '2026-01-01/2026-02-01', segments: ['a'] },
    ].map((inputSpec) => ({
      type: 'compact',
      dataSource: 'wiki',
      ioConfig: { type: 'compact', inputSpec, dropExisting: true },
      granularitySpec: { segmentGranularity: 'DAY' },
      tuningConfig: { type: 'index_parallel', partitionsSpec: { type: 'hashed', numShards: 2 } },
      context: { priority: 1 },
    })),
  },
]

const takes = (parse: (json: unknown) => unknown, json: unknown): boolean => {
  try {
    parse(json)
    return true
  } catch {
    return false
  }
}

describe('a schema that is separate from its parser', () => {
  for (const { name, isList = false, parse, bodies } of shapes) {
    it(`accepts everything that the parser accepts, and refuses invalid bodies: ${name}`, () => {
      const problemOf = (json: unknown): string | undefined => {
        if (!isList) return problemOfShape(name, json)
        if (!Array.isArray(json)) return 'not a list'
        const [problem] = json.flatMap((one) => problemOfShape(name, one) ?? [])
        return problem
      }
      const refused = { 'removed part': 0, 'different type': 0, 'unknown field': 0 }
      assert.ok(bodies.some((body) => takes(parse, body)))
      for (const body of bodies) {
        for (const { kind, json } of [{ kind: 'different type' as const, json: body }, ...changesOf(body)]) {
          const problem = problemOf(json)
          if (problem === undefined) continue
          refused[kind] += 1
          assert.ok(
            !takes(parse, json),
            `${JSON.stringify(json)} is accepted, but the document says: ${problem}`,
          )
        }
      }
      assert.ok(
        Object.values(refused).every((count) => count > 0),
        JSON.stringify(refused),
      )
    })
  }
})
