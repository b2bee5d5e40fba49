import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type SegmentKey, segmentId } from '@svc/domain/segment'
import { parseInterval } from '@svc/domain/time'
import type { ClusterClient } from '../client/index.ts'
import type { Plan } from '../declared-state/index.ts'
import { restoredAreListed, unrestoredIn, unrestoredSegments, unrestoredText } from './unrestored-segments.ts'

const plannedAt = 1000
const [old, newer] = ['2026-01-01T00:00:00.000Z', '2026-02-01T00:00:00.000Z']
const segment = (interval: string, version = old, partitionNum = 0): SegmentKey => ({
  dataSource: 'wiki',
  interval: parseInterval(interval),
  version,
  partitionNum,
})
const unused = (key: SegmentKey, changedAt: number | undefined) => ({ ...key, changedAt })
const [first, second, month] = ['2001-01-01/P1D', '2001-01-02/P1D', '2001-01-01/P1M']
const days = [segment(first), segment(second)]

describe('after a plan was reverted', () => {
  const cases: [name: string, ...parts: Parameters<typeof found>, expected: RegExp[]][] = [
    ['nothing is reported if all predicted segments are used', days, days, [], []],
    [
      'segments that compaction created in between are reported',
      days,
      days,
      [unused(segment(month, newer), plannedAt)],
      [
        /^1 segment of \[wiki\] in \[2001-01-01T00:00:00\.000Z\/2001-02-01T00:00:00\.000Z\] stayed unused, because a plan does not list segments that are created or marked as used later \(for example, by compaction\)/,
      ],
    ],
    [
      'also if the predicted segments do not exist anymore',
      days,
      [],
      [unused(segment(month, newer), plannedAt)],
      [/^1 segment of .* because a plan does not list/],
    ],
    [
      'so are appended segments',
      days,
      days,
      [unused(segment(second, old, 1), plannedAt)],
      [/^1 segment of \[wiki\] in \[2001-01-02.* because a plan does not list/],
    ],
    [
      'segments that were unused before are not reported',
      days,
      days,
      [unused(segment(month, newer), plannedAt - 1), unused(segment(month, newer, 1), undefined)],
      [],
    ],
    [
      'nor those that newer used ones replace',
      days,
      [segment(month, newer)],
      [...days, segment(second, old, 1)].map((key) => unused(key, plannedAt)),
      [],
    ],
    ['nor those of other intervals', days, days, [unused(segment('2001-01-03/P1D', newer), plannedAt)], []],
    [
      'segments that are listed nowhere are reported: they may be deleted, or not listed yet',
      days,
      [segment(first)],
      [],
      [
        /^1 segment of \[wiki\] in \[2001-01-02[^,]*\] was not found among the used and unused segments: .*kill tasks have deleted the data, or the coordinator has not read/,
      ],
    ],
    [
      'and those that are unused again',
      days,
      [],
      days.map((key) => unused(key, plannedAt + 5)),
      [
        /^2 segments of \[wiki\] in \[2001-01-01[^,]*2001-01-03[^,]*\] stayed unused, although the plan lists them: /,
      ],
    ],
    [
      'many intervals are abbreviated',
      Array.from({ length: 6 }, (_, month) => segment(`2001-0${month + 1}-01/P1D`)),
      [],
      [],
      [
        /^6 segments of \[wiki\] in \[2001-01-01[^,]*, 2001-02[^,]*, 2001-03[^,]*, and 3 more\] were not found/,
      ],
    ],
  ]
  const found = (
    predicted: readonly SegmentKey[],
    used: readonly SegmentKey[],
    others: readonly ReturnType<typeof unused>[],
  ): string[] => unrestoredText('wiki', unrestoredIn({ predicted, used, unused: others }, plannedAt))
  for (const [name, predicted, used, others, expected] of cases) {
    test(name, () => {
      const texts = found(predicted, used, others)
      assert.equal(texts.length, expected.length, texts.join('\n'))
      for (const [index, text] of texts.entries()) assert.match(text, expected[index]!)
    })
  }
})

describe('a check of a Druid cluster', () => {
  const plan = (fields: Partial<Plan>): Plan =>
    ({ createdAt: '2026-03-01T00:00:00.000Z', losses: {}, ...fields }) as Plan
  const client = (
    answer: (path: string, body: unknown) => unknown,
    interfaceName: ClusterClient['interfaceName'] = 'druid',
  ): ClusterClient =>
    ({
      interfaceName,
      send: async (_method: string, path: string, body: unknown) => answer(path, body),
    }) as unknown as ClusterClient

  test('reads pages of the unused segments of full years, which contain those of longer intervals', async () => {
    const sent: string[] = []
    const listed = Array.from({ length: 10_001 }, (_, index) => segmentId(segment(month, newer, index)))
    const druid = client((path, body) => {
      const { pathname, searchParams: query } = new URL(path, 'http://druid')
      sent.push([pathname.split('/').at(-1), query.get('interval'), JSON.stringify(body)].join(' '))
      if (pathname.endsWith('/segments')) return days.map(segmentId)
      const from = listed.indexOf(query.get('lastSegmentId') ?? '') + 1
      return listed.slice(from, from + Number(query.get('limit'))).map((identifier) => ({
        dataSegment: { identifier },
        usedStatusLastUpdatedDate: '2026-03-02T00:00:00.000Z',
      }))
    })
    const [warning, ...others] = await unrestoredSegments(
      druid,
      plan({ unusedSegments: { wiki: days.map(segmentId) } }),
    )
    assert.deepEqual(others, [])
    assert.match(warning!, /^10,001 segments of \[wiki\]/)
    const year = '2001-01-01T00:00:00.000Z_2002-01-01T00:00:00.000Z'
    assert.deepEqual(sent.sort(), [
      'segments  ["2001-01-01T00:00:00.000Z/2001-01-03T00:00:00.000Z"]',
      `unusedSegments ${year} `,
      `unusedSegments ${year} `,
    ])
  })

  test('has to wait until the coordinator lists segments that were marked as used', async () => {
    let used: readonly SegmentKey[] = [segment(first)]
    const druid = client((path) => (path.endsWith('/segments') ? used.map(segmentId) : []))
    const listed = restoredAreListed(druid, plan({ unusedSegments: { wiki: days.map(segmentId) } }))
    assert.deepEqual(await listed(), ['1 segment of [wiki] cannot be found'])
    used = days
    assert.deepEqual(await listed(), [])
  })

  test('says that a plan with too many segments restored none', async () => {
    const none = client(() => assert.fail())
    const losses = { wiki: { unqueryable: 0, unqueryableBytes: 0, unused: 200_000, unusedBytes: 1 } }
    assert.match(
      (await unrestoredSegments(none, plan({ losses })))[0]!,
      /^200,000 segments stayed unused, because the plan marked more segments as unused than a plan can list,/,
    )
    assert.deepEqual(await unrestoredSegments(none, plan({})), [])
    const svc = client(() => assert.fail(), 'svc')
    assert.deepEqual(await unrestoredSegments(svc, plan({ losses })), [])
  })
})
