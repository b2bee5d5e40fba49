import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { AnsweredEffects } from '@svc/domain/preview'
import { effectNames } from '@svc/domain/preview'
import { effectsTable, failureReason, lossSentences, parseFailOn } from './index.ts'

const midnight = 'T00:00:00.000Z'
const none = { segments: 0, copies: 0, bytes: 0, days: 0, interval: null }
const some = {
  segments: 31,
  copies: 62,
  bytes: 104_054,
  days: 31,
  interval: `2001-01-01${midnight}/2001-02-01${midnight}`,
}
// Effects on segments have no number of replicas.
const { copies: _, ...lost } = some
const effectsWith = (more: object): AnsweredEffects =>
  ({
    ...Object.fromEntries(effectNames.map((name) => [name, none])),
    unqueryable: { ...none, queryableBefore: 0 },
    waitingForTier: { ...none, tiers: [] },
    ...more,
  }) as unknown as AnsweredEffects

describe('the loss in words', () => {
  const cases: [effects: object, sentences: string[]][] = [
    [{}, ['No segments are affected.']],
    [{ loaded: some }, ['All data stays queryable.']],
    [
      { unqueryable: { ...lost, queryableBefore: 31 }, unused: lost },
      [
        '31 segments (104.1 kB, 31 days) will be unqueryable (queryable now).',
        '31 segments (104.1 kB, 31 days) will be marked as unused.',
      ],
    ],
    [
      { unqueryable: { ...lost, segments: 1, days: null, queryableBefore: 0 } },
      ['1 segment (104.1 kB) will be unqueryable (it already was).'],
    ],
    [
      { waitingForTier: { ...some, tiers: ['hott', 'x'] }, doesNotFit: some },
      [
        'All data stays queryable.',
        '62 replicas of 31 segments will wait for servers in tiers [hott, x].',
        '62 replicas of 31 segments (104.1 kB, 31 days) with data before 2001-02-01 do not fit.',
      ],
    ],
    [
      { underReplicated: some },
      [
        'All data stays queryable.',
        '62 replicas of 31 segments will be missing because a tier has fewer servers than required replicas.',
      ],
    ],
    [
      { doesNotFit: { ...some, copies: 31 }, underReplicated: some },
      [
        'All data stays queryable.',
        '31 segments (104.1 kB, 31 days) with data before 2001-02-01 do not fit.',
      ],
    ],
  ]
  for (const [effects, sentences] of cases)
    test(sentences[0]!, () => assert.deepEqual(lossSentences({ effects: effectsWith(effects) }), sentences))

  test('names each datasource with replicas that wait for servers, up to a limit', () => {
    const waiting = (names: readonly string[]) => {
      const effects = effectsWith({ waitingForTier: { ...some, tiers: ['hott'] } })
      const datasources = Object.fromEntries(names.map((name) => [name, { effects }]))
      return lossSentences({ effects, datasources: { ...datasources, z: { effects: effectsWith({}) } } })
    }
    const rest = '62 replicas of 31 segments will wait for servers in tier [hott].'
    assert.deepEqual(waiting([]).slice(1), [rest])
    assert.deepEqual(waiting(['a', 'b']).slice(1), [`Datasource [a]: ${rest}`, `Datasource [b]: ${rest}`])
    const many = waiting(Array.from({ length: 12 }, (_, index) => `d${index}`)).slice(1)
    assert.equal(many.length, 11)
    assert.equal(many.at(-1), '2 other datasources: 124 replicas of 62 segments will wait for servers.')
  })

  test('says that only the first of many tiers are listed', () => {
    const tiers = Array.from({ length: 20 }, (_, index) => `t${index}`)
    const sentences = lossSentences({ effects: effectsWith({ waitingForTier: { ...some, tiers } }) })
    assert.match(sentences[1]!, /in tiers such as \[t0, .*, t19\]\.$/)
  })

  test('is limited to the datasources that the user may read', () => {
    const readable = 'of the datasources that this user may read'
    const first = (effects: object) => lossSentences({ effects: effectsWith(effects) }, true)[0]
    assert.equal(first({}), `No segments ${readable} are affected.`)
    assert.equal(first({ loaded: some }), `All data ${readable} stays queryable.`)
  })
})

describe('the loss within a horizon', () => {
  const end = { now: `2026-12-26${midnight}`, datasources: {} }
  const later = (more: object) => ({ from: `2026-11-29${midnight}`, segments: 60, bytes: 2.4e9, ...more })
  const cases: [effects: object, laterLosses: object, sentences: string[]][] = [
    [{ loaded: some }, {}, ['All data stays queryable.']],
    [
      { loaded: some },
      { doesNotFit: later({ copies: 60, tiers: ['cold'] }), underReplicated: later({ copies: 60 }) },
      [
        'All data stays queryable.',
        'From 2026-11-29, tier [cold] is full: up to 60 segments (2.4 GB) do not fit.',
      ],
    ],
    [
      { loaded: some },
      { unqueryable: later({}), unused: later({}) },
      [
        'All data stays queryable until 2026-11-29.',
        'By 2026-12-26, 60 segments (2.4 GB) will become unqueryable, the first on 2026-11-29.',
        'By 2026-12-26, 60 segments (2.4 GB) will be marked as unused, the first on 2026-11-29.',
      ],
    ],
    [
      { unqueryable: { ...lost, queryableBefore: 31 }, unused: { ...lost, segments: 30 } },
      { unused: later({ segments: 31, bytes: 104_055 }) },
      [
        '31 segments (104.1 kB, 31 days) will be unqueryable (queryable now).',
        '30 segments (104.1 kB, 31 days) will be marked as unused.',
        'By 2026-12-26, 1 segment (1 B) will be marked as unused, the first on 2026-11-29.',
      ],
    ],
    [
      { unqueryable: { ...lost, queryableBefore: 31 }, unused: { ...lost, segments: 30 } },
      { unqueryable: later({ added: { segments: 45, bytes: 1.8e9 } }) },
      [
        '31 segments (104.1 kB, 31 days) will be unqueryable (queryable now).',
        '30 segments (104.1 kB, 31 days) will be marked as unused.',
        'From 2026-11-29, up to 45 segments (1.8 GB) that are not affected now will be unqueryable.',
      ],
    ],
    [
      { doesNotFit: some, underReplicated: some },
      { doesNotFit: later({ copies: 90, tiers: ['cold', 'hot'] }), underReplicated: later({ copies: 90 }) },
      [
        'All data stays queryable.',
        '62 replicas of 31 segments (104.1 kB, 31 days) with data before 2001-02-01 do not fit.',
        'From 2026-11-29, additional replicas do not fit in tiers [cold, hot]: up to 90 replicas of 60 segments (2.4 GB) in total.',
      ],
    ],
    [
      { waitingForTier: { ...some, tiers: ['hott'] } },
      { waitingForTier: later({ copies: 90, tiers: ['hott'] }) },
      [
        'All data stays queryable.',
        '62 replicas of 31 segments will wait for servers in tier [hott].',
        'From 2026-11-29, additional replicas will wait for servers in tier [hott]: up to 90 replicas of 60 segments in total.',
      ],
    ],
    [
      { underReplicated: some },
      { underReplicated: later({ copies: 90 }) },
      [
        'All data stays queryable.',
        '62 replicas of 31 segments will be missing because a tier has fewer servers than required replicas.',
        'From 2026-11-29, additional replicas will be missing: up to 90 of 60 segments (2.4 GB) in total.',
      ],
    ],
    [
      {},
      { waitingForTier: later({ copies: 60, tiers: ['hott'] }) },
      [
        'No segments are affected now.',
        'From 2026-11-29, up to 60 replicas of 60 segments will wait for servers in tier [hott].',
      ],
    ],
    [
      {},
      { underReplicated: later({ copies: 60 }) },
      [
        'No segments are affected now.',
        'From 2026-11-29, up to 60 replicas of 60 segments (2.4 GB) will be missing.',
      ],
    ],
  ]
  for (const [effects, laterLosses, sentences] of cases)
    test(sentences.at(-1)!, () =>
      assert.deepEqual(
        lossSentences({ effects: effectsWith(effects), laterLosses, steps: [end] }),
        sentences,
      ),
    )
})

test('the table of effects lists losses of one datasource even if there are none', () => {
  const effects = effectsWith({ moved: some })
  assert.deepEqual(effectsTable(effects, { wiki: { effects } }).rows, [
    ['wiki', 'unqueryable', '0', '', '', '', ''],
    ['wiki', 'marked as unused', '0', '', '', '', ''],
    ['wiki', 'under-replicated', '0', '', '', '', ''],
    ['wiki', 'does not fit', '0', '', '', '', ''],
    ['wiki', 'moved', '31', '62', '104.1 kB', '31', '2001-01-01/2001-02-01'],
  ])
})

test('the table of effects begins with the sum of several datasources', () => {
  const effects = effectsWith({ loaded: some })
  const { rows } = effectsTable(effects, { wiki: { effects }, koalas: { effects: effectsWith({}) } })
  assert.deepEqual(
    rows.map(([dataSource, effect]) => `${dataSource} ${effect}`),
    [
      '(all) unqueryable',
      '(all) marked as unused',
      '(all) under-replicated',
      '(all) does not fit',
      '(all) loaded',
      'wiki loaded',
    ],
  )
})

describe('--fail-on', () => {
  const warnings: [] = []

  test('names effects, separated by commas', () => {
    assert.deepEqual(parseFailOn('unqueryable, doesNotFit'), ['unqueryable', 'doesNotFit'])
    assert.throws(() => parseFailOn('unqueryable,loaded'), {
      message:
        'Invalid value [loaded] for [--fail-on]: expected one of [unqueryable, unused, underReplicated, doesNotFit]',
    })
    assert.throws(() => parseFailOn(''), { code: 'invalidInput' })
  })

  test('fails only for these effects, with the reason in one line', () => {
    const effects = effectsWith({ unused: lost, underReplicated: some })
    assert.equal(
      failureReason({ summary: { effects, laterLosses: {} }, warnings }, ['unqueryable', 'doesNotFit']),
      undefined,
    )
    assert.equal(
      failureReason({ summary: { effects }, warnings }, [
        'unqueryable',
        'unused',
        'underReplicated',
        'unused',
      ]),
      'Failed because of --fail-on: [unused] (31 segments), [underReplicated] (31 segments)',
    )
  })

  test('fails if the change may affect datasources that the user may not read', () => {
    const preview = {
      summary: { effects: effectsWith({}) },
      warnings: [{ type: 'incompletePreview', message: '' }],
    }
    assert.equal(failureReason(preview, []), undefined)
    assert.equal(
      failureReason(preview, ['unused']),
      'Failed because of --fail-on: the effects on datasources that this user may not read are unknown',
    )
  })

  test('fails for effects within the horizon', () => {
    const from = `2026-11-29${midnight}`
    const laterLosses = {
      unused: { from, segments: 40, bytes: 1, added: { segments: 9, bytes: 1 } },
      doesNotFit: { from, segments: 2, copies: 3, bytes: 1 },
    }
    const summary = { effects: effectsWith({ unused: lost }), laterLosses }
    assert.equal(failureReason({ summary, warnings }, ['unqueryable', 'underReplicated']), undefined)
    assert.equal(
      failureReason({ summary, warnings }, ['unused', 'doesNotFit']),
      `Failed because of --fail-on: [unused] (31 segments now, and 9 more segments from 2026-11-29), [doesNotFit] (2 segments from 2026-11-29)`,
    )
  })
})
