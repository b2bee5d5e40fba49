import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { AnsweredBuckets } from '@svc/domain/preview'
import { effectNames } from '@svc/domain/preview'
import { defaultRule, parseRules } from '@svc/domain/rules'
import { parseInstant } from '@svc/domain/time'
import { ruleBandsOf } from '../rules/index.ts'
import {
  type AnsweredPreview,
  bucketsIn,
  dataPicture,
  escapedMarkdown,
  pictureLegend,
  previewHtml,
  previewMarkdown,
  reportOf,
  stepsTable,
} from './index.ts'

const dayMs = 86_400_000
const buckets: AnsweredBuckets = {
  start: '2026-06-01T00:00:00.000Z',
  widthMs: dayMs,
  count: 20,
  tiers: {
    hot: {
      before: Array.from({ length: 20 }, () => 1000),
      after: Array.from({ length: 20 }, (_, day) => (day < 10 ? 0 : 2000)),
    },
    'a<tier> with a long name|': {
      before: Array.from({ length: 20 }, () => 0),
      after: Array.from({ length: 20 }, (_, day) => (day === 9 ? 1 : 0)),
    },
  },
  unqueryable: Array.from({ length: 20 }, (_, day) => (day < 9 ? 500 : 0)),
  unused: Array.from({ length: 20 }, (_, day) => (day < 5 ? 500 : 0)),
}
const own = parseRules([
  { type: 'loadByPeriod', period: 'P10D', tieredReplicants: { hot: 2 } },
  { type: 'dropBeforeByPeriod', period: 'P15D' },
])
const bands = ruleBandsOf(buckets, {
  own: own.length,
  all: [...own, defaultRule],
  now: parseInstant('2026-06-21'),
})
const plain = (_color: string, text: string) => text

describe('the picture of data', () => {
  test('shows the rule that applies to the data of a bucket, even if the bucket is longer', () => {
    const rule = parseRules([
      { type: 'loadByInterval', interval: '2026-06-01/2026-06-03', tieredReplicants: { hot: 1 } },
    ])
    const shown = { own: 1, all: [...rule, defaultRule], now: parseInstant('2026-06-21') }
    const weeks = { start: '2026-05-25T00:00:00.000Z', widthMs: 7 * dayMs, count: 2 }
    assert.deepEqual(ruleBandsOf(weeks, shown).symbols, ['D', 'D'])
    const covered = '2026-05-31T00:00:00.000Z/2026-06-02T00:00:00.000Z'
    assert.deepEqual(ruleBandsOf({ ...weeks, covered }, shown).symbols, ['D', '0'])
  })

  test('shows bytes by tier before and after, losses, and rules', () => {
    const lines = [...dataPicture(buckets, bands, 80, plain), ...pictureLegend(buckets, bands)]
    assert.deepEqual(lines, [
      '                      2026-06-01                    2026-06-21',
      'hot before            ▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄',
      '    after             ....................████████████████████',
      'a<tier> with … before ........................................',
      '               after  ..................▁▁....................',
      'lost                  xxxxxxxxxx!!!!!!!!......................',
      'rule                  1111111111DDDDDDDDDD00000000000000000000',
      '',
      '█ 2.0 kB of replicas per day, . none',
      'x marked as unused, ! used without a replica',
      '0 loadByPeriod, the last P10D and the future: hot 2',
      '1 dropBeforeByPeriod, older than P15D: none',
      'D default rule: loadForever, everything: _default_tier 2',
    ])
  })

  test('fits into the columns of a terminal', () => {
    for (const columns of [40, 80, 120]) {
      const count = bucketsIn(columns)
      const even = Array.from({ length: count }, () => 7)
      const wide = {
        ...buckets,
        count,
        tiers: { hot: { before: even, after: even } },
        unqueryable: even,
        unused: even,
      }
      const lines = dataPicture(wide, undefined, columns, plain)
      for (const line of lines.slice(0, 4)) assert.ok(line.length <= Math.max(columns, 42), line)
    }
  })

  test('has the same text with and without color', () => {
    const colors: string[] = []
    const colored = dataPicture(buckets, bands, 80, (color, text) => {
      colors.push(color)
      return text
    })
    assert.deepEqual(colored, dataPicture(buckets, bands, 80, plain))
    assert.deepEqual(colors, ['before', 'after', 'before', 'after', 'lost'])
  })
})

const midnight = 'T00:00:00.000Z'
const none = { segments: 0, copies: 0, bytes: 0, days: 0, interval: null }
const effects = {
  ...Object.fromEntries(effectNames.map((name) => [name, none])),
  unqueryable: {
    segments: 9,
    bytes: 4500,
    days: 9,
    interval: `2026-06-01${midnight}/2026-06-10${midnight}`,
    queryableBefore: 9,
  },
  waitingForTier: { ...none, tiers: [] },
}
const summary = { effects, tiers: {}, markedUnused: none, oldestInterval: null, newestInterval: null }
const answer = {
  now: `2026-06-21${midnight}`,
  summary: { effects, buckets, datasources: { '<wiki>|x': summary } },
  warnings: [{ type: 'x', message: 'Datasource [<wiki>|x]: "a" & b' }],
} as unknown as AnsweredPreview

test('the page is self-contained, and escapes names', () => {
  const page = previewHtml(reportOf(answer, bands))
  assert.match(page, /^<!doctype html>/)
  assert.match(page, /9 segments \(4\.5 kB, 9 days\) will be unqueryable \(/)
  assert.match(page, /<svg /)
  assert.match(page, /<li>Datasource \[&lt;wiki&gt;\|x\]: &quot;a&quot; &amp; b<\/li>/)
  assert.match(page, /a&lt;tier&gt; with a long name/)
  assert.doesNotMatch(page, /<wiki>|a<tier>|<script|https?:|<link|@import|url\(/)
})

test('the picture and Markdown contain no control characters of names', () => {
  const { hot } = buckets.tiers
  const strange = { ...buckets, tiers: { 'a\u009b\u202e': hot! } }
  const shown = [
    ...dataPicture(strange, undefined, 80, plain),
    previewMarkdown({ ...reportOf(answer, undefined), buckets: strange }),
  ]
  assert.match(shown.join(''), /a\\u009b\\u202e before/)
  assert.doesNotMatch(shown.join(''), /[\u009b\u202e]/)
})

test('Markdown shows a name as it is, whatever it contains', () => {
  assert.equal(
    escapedMarkdown('a\n<b> &lt; $x$ ~~y~~ [z](u) `'),
    'a\\\\u000a\\<b\\> \\&lt; \\$x\\$ \\~\\~y\\~\\~ \\[z\\](u) \\`',
  )
})

test('Markdown notifies nobody whose name is in it', () => {
  assert.equal(escapedMarkdown('tier [@octo/admins]'), 'tier \\[@<!-- -->octo/admins\\]')
})

test('Markdown has the loss, warnings, the picture, and escaped names', () => {
  const text = previewMarkdown(reportOf(answer, bands))
  assert.match(text, /^## Preview of a rule change as of 2026-06-21T00:00:00\.000Z\n\n- 9 segments/)
  assert.match(text, /^\| \\<wiki\\>\\\|x \| unqueryable \| 9 \| 4\.5 kB \| 9 \| 2026-06-01\/2026-06-10 \|$/m)
  assert.match(text, /^- Datasource \\\[\\<wiki\\>\\\|x\\\]: "a" \\& b$/m)
  assert.match(text, /```text\n {22}2026-06-01/)
})

test('the page and Markdown say why they show no rules', () => {
  const reason = 'Rules are shown only if a single list of rules changes.'
  const report = reportOf(answer, reason)
  assert.equal(report.bands, undefined)
  assert.ok(previewHtml(report).includes(`<p>${reason}</p>`))
  assert.ok(previewMarkdown(report).includes(`\n\n${reason}\n`))
  assert.doesNotMatch(previewMarkdown(reportOf(answer, bands)), /Rules are/)
})

describe('later changes', () => {
  const stepsOver = (count: number, stepMs: number) => ({
    ...answer,
    summary: {
      ...answer.summary,
      steps: Array.from({ length: count }, (_, index) => ({
        now: new Date(Date.parse('2026-06-15') + (index + 1) * stepMs).toISOString(),
        datasources: {
          wiki: {
            ...summary,
            tiers: { hot: { loaded: { ...none, copies: 1 }, dropped: { ...none, copies: 2 } } },
            markedUnused: { segments: 1, bytes: 1 },
          },
        },
      })),
    },
  })
  const cases: [count: number, stepMs: number, rows: number, header: string, first: string[]][] = [
    [12, 3_600_000, 12, 'until', ['2026-06-15T01:00Z', 'wiki', 'hot +1, hot -2, 1 segment marked as unused']],
    [60, dayMs, 9, 'week of', ['2026-06-15', 'wiki', 'hot +6, hot -12, 6 segments marked as unused']],
    [52, 7 * dayMs, 13, 'month', ['2026-06', 'wiki', 'hot +2, hot -4, 2 segments marked as unused']],
    [120, 30 * dayMs, 11, 'year', ['2026', 'wiki', 'hot +6, hot -12, 6 segments marked as unused']],
  ]
  for (const [count, stepMs, rows, header, first] of cases) {
    test(`${count} steps take ${rows} rows`, () => {
      const table = stepsTable(stepsOver(count, stepMs) as unknown as AnsweredPreview)
      assert.equal(table.rows.length, rows)
      assert.equal(table.header[0], header)
      assert.deepEqual(table.rows[0], first)
    })
  }

  test('a horizon without changes is mentioned', () => {
    const sentencesWith = (summary: object) =>
      reportOf({ ...answer, summary: { ...answer.summary, ...summary } }, undefined).sentences.join(' ')
    assert.match(sentencesWith({ steps: [] }), /No further changes are expected within the horizon\./)
    assert.doesNotMatch(sentencesWith({}), /horizon/)
  })
})

test('unused segments that the rules keep have a hint, which names an option only if the command has it', () => {
  const message = '90 unused segments would be loaded if marked as used'
  const warned = { ...answer, warnings: [{ type: 'unusedSegmentsStay', message }] }
  assert.deepEqual(reportOf(warned, undefined).warnings, [
    `${message}. To include unused segments, add --mark-used`,
  ])
  const unusedHint = 'To mark segments as used after the change, run ./svc mark-used'
  assert.deepEqual(reportOf(warned, undefined, { unusedHint }).warnings, [`${message}. ${unusedHint}`])
})
