import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type StringKind, stringKinds } from './call-sites.ts'
import { drawSample } from './draw-sample.ts'
import { textsOfLines } from './line-texts.ts'
import { formatStrings, readStrings } from './list-strings.ts'

const strings = readStrings()

/** Well below the numbers found at the time of writing, so that only a broken rule fails. */
const minCounts: Readonly<Record<StringKind, number>> = {
  help: 200,
  output: 150,
  error: 700,
  answer: 80,
  log: 80,
  openapi: 180,
  property: 120,
  metric: 25,
  monitoring: 80,
  console: 400,
}

describe('of the source', () => {
  for (const kind of stringKinds) {
    test(`at least ${minCounts[kind]} strings have the kind ${kind}`, () => {
      const count = strings.filter((each) => each.kind === kind).length
      assert.ok(count >= minCounts[kind], `found ${count}`)
    })
  }

  const known: readonly [kind: StringKind, file: string, text: RegExp][] = [
    ['help', 'cli/src/commands/dev-writing.ts', /^List all user-facing strings/],
    ['help', 'cli/src/commands/logs.ts', /log/],
    ['output', 'cli/src/commands/down.ts', /Stopped/],
    ['error', 'packages/domain/src/rules/rule.ts', /\w+ \w+/],
    ['error', 'packages/shared/src/tasks/task-types.ts', /one of/],
    ['error', 'svc', /Node\.js 20 or newer/],
    ['answer', 'services/coordinator/src/endpoints/security/access-verdict.ts', /authorizer/i],
    ['log', 'packages/shared/src/service/stop-service.ts', /^Stop/],
    ['openapi', 'services/coordinator/src/endpoints/rules.ts', /rules/i],
    ['openapi', 'services/overlord/src/endpoints/tasks.ts', /tasks/i],
    ['property', 'packages/shared/src/config/properties.ts', /metadata store/],
    ['metric', 'packages/shared/src/metrics/definitions.ts', /ready/],
    ['monitoring', 'deploy/monitoring/alerts.yml', /\{\{ \$labels/],
    ['monitoring', 'deploy/monitoring/dashboard.json', /\w+/],
    ['console', 'console/src/sql/sql-screen.tsx', /^There are no datasources that you can query\.$/],
    ['console', 'console/src/sql/sql-screen.tsx', /^Tables$/],
    ['console', 'console/src/cluster/health-queries.ts', /unfinished tasks/],
    ['output', 'deploy/github/plan.mjs', /The plan is too long for a comment/],
    ['error', 'clients/node/src/svc-container.ts', /^Timed out waiting/],
    ['help', 'cli/src/commands/explain.ts', /^Explain why segments that overlap/],
    ['help', 'cli/src/commands/index.ts', /^Run a cluster:$/],
    ['help', 'cli/src/commands/run-command-line.ts', /^Show the version$/],
  ]
  for (const [kind, file, text] of known) {
    test(`${file} has a string of kind ${kind} that matches ${text}`, () => {
      assert.ok(strings.some((each) => each.kind === kind && each.file === file && text.test(each.text)))
    })
  }

  test('no code is listed', () => {
    const code = strings.filter(({ text }) => /frame-ancestors|^import |createRequire/.test(text))
    assert.deepEqual(code, [])
  })

  test('every route has a summary', () => {
    const routes = strings.filter(({ kind, file }) => kind === 'openapi' && file.startsWith('services/'))
    assert.ok(routes.length > 150)
  })
})

test('prints a heading for each kind, and one line for each string', () => {
  const text = formatStrings([
    { kind: 'error', file: 'a.ts', line: 3, text: 'Two\nlines' },
    { kind: 'log', file: 'b.ts', line: 4, text: 'Stopped' },
  ])
  assert.equal(text, 'error (1)\n  a.ts:3  Two\\nlines\n\nlog (1)\n  b.ts:4  Stopped\n')
})

describe('a sample', () => {
  const items = Array.from({ length: 1000 }, (_, index) => index)

  test('is the same for the same seed, and different for a different seed', () => {
    assert.deepEqual(drawSample(items, 20, 7), drawSample(items, 20, 7))
    assert.notDeepEqual(drawSample(items, 20, 7), drawSample(items, 20, 8))
  })

  test('has distinct items in their order', () => {
    const drawn = drawSample(items, 500, 1)
    assert.equal(new Set(drawn).size, 500)
    assert.deepEqual(
      drawn,
      drawn.toSorted((a, b) => a - b),
    )
  })

  test('draws from everywhere', () => {
    const means = [1, 2, 3, 4, 5].map((seed) => drawSample(items, 500, seed).reduce((a, b) => a + b) / 500)
    for (const mean of means) assert.ok(mean > 440 && mean < 560, `mean ${mean}`)
  })

  test('is everything if there are not enough items', () => {
    assert.deepEqual(drawSample(items, 2000, 3), items)
  })
})

test('finds annotations of alerts and what a script prints', () => {
  assert.deepEqual(textsOfLines('a.yml', 'x:\n  summary: "No leader: {{ $value }}"\n  expr: up == 0'), [
    { kind: 'monitoring', line: 2, text: 'No leader: {{ $value }}' },
  ])
  assert.deepEqual(textsOfLines('svc', '# says\n  echo "svc: \\"node\\" is $version" >&2'), [
    { kind: 'error', line: 2, text: `svc: "node" is \${…}` },
  ])
})
