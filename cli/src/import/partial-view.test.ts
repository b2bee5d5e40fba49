import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { parseRules } from '@svc/domain/rules'
import { type ImportedParts, signsOfPartialView } from './partial-view.ts'

const rules = parseRules([{ type: 'loadForever', tieredReplicants: { hot: 1 } }], 'rules')
const placement = {
  replicas: 2,
  bytesOfServer: new Map([['a:1', 20]]),
  unlisted: new Map<string, number>(),
  serversWithUnlisted: new Set<string>(),
}
const counts = {
  datasourcesWithUsedSegments: ['wiki'],
  servedSegments: { wiki: 2 },
  usedBytes: { 'a:1': 20 },
  mayReadEveryDatasource: null,
}
const complete: ImportedParts = {
  segments: new Map([['wiki', 2]]),
  rules: new Map([
    ['_default', rules],
    ['wiki', rules],
  ]),
  counts: { value: counts },
  placement,
}

const cases: readonly [name: string, change: Partial<ImportedParts>, signs: readonly RegExp[]][] = [
  ['of everything', {}, []],
  [
    'without a datasource that has used segments',
    { counts: { value: { ...counts, datasourcesWithUsedSegments: ['koalas', 'wiki'] } } },
    [/load status .* without visible segments: \[koalas\]$/],
  ],
  [
    'without segments that servers have',
    {
      counts: { value: { ...counts, datasourcesWithUsedSegments: ['koalas', 'wiki'] } },
      placement: { ...placement, unlisted: new Map([['koalas', 3]]), serversWithUnlisted: new Set(['a:1']) },
    },
    [/load status/, /Servers have 3 replicas of segments of \[koalas\] that the source did not list$/],
  ],
  [
    'while servers drop a datasource that has no used segments',
    { placement: { ...placement, unlisted: new Map([['old', 3]]), serversWithUnlisted: new Set(['a:1']) } },
    [],
  ],
  [
    'while servers drop segments that are not used',
    {
      counts: { value: { ...counts, servedSegments: { wiki: 3 }, usedBytes: { 'a:1': 30 } } },
      placement: { ...placement, unlisted: new Map([['wiki', 1]]), serversWithUnlisted: new Set(['a:1']) },
    },
    [],
  ],
  [
    'of fewer segments than are served',
    { counts: { value: { ...counts, servedSegments: { wiki: 5 } } } },
    [/^Servers have \[5\] segments of datasource \[wiki\], but only \[2\] are listed$/],
  ],
  [
    'of fewer bytes than servers have',
    { counts: { value: { ...counts, usedBytes: { 'a:1': 1020, 'b:1': 0 } } } },
    [/^Servers use 1\.0 kB more space than their listed segments need: \[a:1\]$/],
  ],
  [
    'with rules for a datasource without segments, if the load status shows that it has none',
    { rules: new Map([['koalas', rules]]) },
    [],
  ],
  [
    'with rules for a datasource without segments, if the load status is unknown',
    { rules: new Map([['koalas', rules]]), counts: { unseen: 'denied' } },
    [/^There are rules for datasources without visible segments: \[koalas\]$/],
  ],
]

describe('a view', () => {
  for (const [name, change, expected] of cases) {
    it(`${name} is ${expected.length === 0 ? 'complete' : 'partial'}`, () => {
      const signs = signsOfPartialView({ ...complete, ...change })
      assert.equal(signs.length, expected.length, signs.join('\n'))
      for (const [index, sign] of signs.entries()) assert.match(sign, expected[index] as RegExp)
    })
  }
})
