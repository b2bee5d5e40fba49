// Made-up histories break each invariant, and the check finds it. The same history without the violation passes.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { CountedRows, Entry, Rest, SeenSegment } from '../history.ts'
import {
  dataSources,
  days,
  type Fault,
  firstRowsPerDay,
  firstTask,
  instances,
  intervalOf,
  type Login,
  type Work,
} from '../schedule.ts'
import { checkHistory, type Invariant, invariants } from './index.ts'

const startedAt = '2026-11-21T00:00:00.000Z'
const [firstDay] = days as [string]
const all = [...Object.values(dataSources)].flat()
const load = (copies: number) => [
  { type: 'loadForever' as const, tieredReplicants: { _default_tier: copies } },
]
const drop = [{ type: 'dropByInterval' as const, interval: intervalOf(firstDay) }, ...load(2)]

const firstSegments: readonly SeenSegment[] = all.flatMap((dataSource) =>
  days.map((day) => ({
    id: `${dataSource}_${day}`,
    dataSource,
    day,
    version: 'v1',
    state: 'used' as const,
    task: firstTask,
  })),
)
const firstRows: readonly CountedRows[] = days.map((day) => ({ task: firstTask, day, rows: firstRowsPerDay }))

/** The state when nothing was done. */
const quiet: Rest = {
  rules: { _default: load(2) },
  compaction: {},
  audit: [],
  segments: firstSegments.map((segment) => ({ ...segment, file: 'sound' })),
  tasks: [{ id: firstTask, state: 'SUCCESS', createdAt: 0, finishedAt: 1 }],
  rows: Object.fromEntries(
    [...dataSources.appended, dataSources.replaced].map((dataSource) => [dataSource, firstRows]),
  ),
  served: {
    'historical-1': firstSegments.map(({ id }) => id),
    'historical-2': firstSegments.map(({ id }) => id),
    'historical-hot-1': [],
  },
  accepted: { coordinator: false, overlord: false },
}

const begin: Entry = { type: 'begin', seed: 1, seconds: 60, startedAt, without: [] }
const look = (at: number, changed: readonly SeenSegment[] = []): Entry => ({
  type: 'segments',
  from: at,
  until: at + 10,
  changed,
})
const claim = (at: number, role: 'coordinator' | 'overlord', instance: string = role): Entry => ({
  type: 'claim',
  from: at,
  until: at + 10,
  role,
  instance,
})
const lease = (at: number, instance: string, term: number): Entry => ({
  type: 'leases',
  from: at,
  until: at + 10,
  leases: [{ role: 'coordinator', instance, term }],
})
const probe = (at: number, problem: string | null = null): Entry => ({
  type: 'probe',
  from: at,
  until: at + 10,
  problem,
})
const fault = (at: number, endAt: number, what: Fault, id = `f${at}`): Entry[] => [
  { type: 'fault', at, step: { id, atMs: at, forMs: endAt - at, fault: what } },
  { type: 'faultEnd', at: endAt, id },
]

interface Sent {
  readonly at: number
  readonly answeredAt?: number
  readonly outcome?: 'done' | 'refused' | 'unknown'
  readonly status?: number
  readonly response?: unknown
  readonly register?: string
}

/** A piece of work that finished immediately, unless a test overrides it. */
function sent(
  id: string,
  work: Work,
  { at, answeredAt = at + 5, outcome = 'done', status = 200, ...more }: Sent,
): Entry[] {
  const register = more.register ?? ('dataSource' in work ? `${work.kind} ${work.dataSource}` : work.kind)
  return [
    { type: 'work', at, step: { id, atMs: at, to: 'router', register, work } },
    {
      type: 'answer',
      at: answeredAt,
      id,
      outcome,
      status,
      ...('response' in more ? { response: more.response } : {}),
    },
  ]
}

const leaders = (until: number): Entry[] =>
  Array.from({ length: until / 1000 + 1 }, (_, second) => second * 1000).flatMap((at) => [
    claim(at, 'coordinator'),
    claim(at, 'overlord'),
    lease(at, 'coordinator', 1),
    probe(at),
  ])

/** A history of 60 seconds: the given entries, between a quiet start and the final state. */
const historyOf = (
  entries: readonly Entry[],
  rest: Partial<Rest> = {},
  problem: string | null = null,
): Entry[] => [
  begin,
  look(0, firstSegments),
  ...leaders(60_000),
  ...entries,
  { type: 'rest', at: 60_000, problem, rest: { ...quiet, ...rest } },
]
/** The same without its own leader and probe entries. */
const bareHistoryOf = (entries: readonly Entry[]): Entry[] => [
  begin,
  ...entries,
  { type: 'rest', at: 60_000, problem: null, rest: quiet },
]

const setRules = (copies: number): Work => ({
  kind: 'setRules',
  dataSource: dataSources.marked,
  rules: load(copies),
})
const rulesAudit = (comment: string, copies: number) => ({
  type: 'rules',
  key: dataSources.marked,
  comment,
  payload: JSON.stringify(load(copies)),
})
const marksAudit = (key: string, comment: string, verb = 'markUnused') => ({
  type: 'segments',
  key,
  comment,
  payload: JSON.stringify({ [verb]: 1 }),
})
const setCompaction = (taskPriority: number): Work => ({
  kind: 'setCompaction',
  dataSource: dataSources.appended[0],
  taskPriority,
})
const compactionAudit = (comment: string, taskPriority?: number) => ({
  type: 'compaction.config',
  key: dataSources.appended[0],
  comment,
  payload: JSON.stringify(taskPriority === undefined ? null : { taskPriority, tuningConfig: null }),
})
const setRight = (granted: boolean): Work => ({ kind: 'setRight', granted })
const rightAudit = (comment: string, granted: boolean) => ({
  type: 'security',
  key: 'MyBasicMetadataAuthorizer/users/changing/roles/reader',
  comment,
  payload: JSON.stringify({ method: granted ? 'POST' : 'DELETE' }),
})
const accepted = (at: number, instance = 'overlord'): Entry => ({
  type: 'accepted',
  from: at,
  until: at + 10,
  instance,
  isAccepted: true,
})
const revokedAt200 = [...sent('w1', setRight(true), { at: 100 }), ...sent('w2', setRight(false), { at: 200 })]
const revokedAudit = { audit: [rightAudit('w1', true), rightAudit('w2', false)] }
const eraseFirst: Work = { kind: 'kill', dataSource: dataSources.erased, task: 'k', day: firstDay }
const markErased: Work = { kind: 'mark', dataSource: dataSources.erased, day: firstDay, used: false }
const markFirst = (used: boolean): Work => ({
  kind: 'mark',
  dataSource: dataSources.marked,
  day: firstDay,
  used,
})
const markedFirst = firstSegments.find(({ dataSource }) => dataSource === dataSources.marked)!
const compactedFirst: SeenSegment = { ...markedFirst, id: 'marked_compacted', version: 'v2', task: 'c' }
const ruledFirst = firstSegments.find(({ dataSource }) => dataSource === dataSources.ruled)!
const erasedFirst = firstSegments.find(({ dataSource }) => dataSource === dataSources.erased)!
/** The quiet final state, except that no server has one of the segments. */
const restWith = (segment: SeenSegment): Partial<Rest> => {
  const others = quiet.segments.filter(({ id }) => id !== segment.id)
  const servedOf = (server: string) => (quiet.served[server] ?? []).filter((id) => id !== segment.id)
  return {
    segments: segment.state === 'gone' ? others : [...others, { ...segment, file: 'sound' }],
    served: Object.fromEntries(Object.keys(quiet.served).map((server) => [server, servedOf(server)])),
  }
}
const [appended] = dataSources.appended
const ingest = (task: string, dataSource: string = appended, append = true): Work => ({
  kind: 'ingest',
  dataSource,
  task,
  days: [firstDay],
  rowsPerDay: 3,
  append,
})
const ended = (id: string, state = 'SUCCESS', createdAt = 0, finishedAt = 1) => ({
  id,
  state,
  createdAt,
  finishedAt,
})
const newSegmentOf = (task: string, id = `${task}_segment`, dataSource: string = appended): SeenSegment => ({
  id,
  dataSource,
  day: firstDay,
  version: 'v1',
  state: 'used',
  task,
})
/** The final state after one more task, whose segment is served. */
const restAfter = (task: string, rows: number, state = 'SUCCESS'): Partial<Rest> => ({
  tasks: [...quiet.tasks, ended(task, state)],
  segments: [...quiet.segments, { ...newSegmentOf(task), file: 'sound' }],
  served: {
    ...quiet.served,
    'historical-1': [...quiet.served['historical-1']!, newSegmentOf(task).id],
    'historical-2': [...quiet.served['historical-2']!, newSegmentOf(task).id],
  },
  rows: {
    ...quiet.rows,
    [appended]: [...firstRows, ...(rows > 0 ? [{ task, day: firstDay, rows }] : [])],
  },
})
const login = (kind: Login, status: number | undefined): Entry[] => {
  const more = status === undefined ? {} : { status }
  return sent('w1', { kind: 'login', login: kind }, { at: 100, outcome: 'done', ...more })
}
const queryStable: Work = { kind: 'query', dataSource: dataSources.stable }
const queryAppended: Work = { kind: 'query', dataSource: appended }

const good: readonly [name: string, history: Entry[]][] = [
  ['a quiet history', historyOf([])],
  [
    'rules that match the last acknowledged write',
    historyOf([...sent('w1', setRules(1), { at: 100 }), ...sent('w2', setRules(2), { at: 200 })], {
      rules: { ...quiet.rules, marked: load(2) },
      audit: [rulesAudit('w1', 1), rulesAudit('w2', 2)],
    }),
  ],
  [
    'rules of an unanswered write that succeeded',
    historyOf(
      [...sent('w1', setRules(3), { at: 100, outcome: 'unknown' }), ...sent('w2', setRules(2), { at: 200 })],
      {
        rules: { ...quiet.rules, marked: load(3) },
        audit: [rulesAudit('w2', 2), rulesAudit('w1', 3)],
      },
    ),
  ],
  [
    'rules of an unanswered write that failed',
    historyOf([...sent('w1', setRules(1), { at: 100, outcome: 'unknown' })]),
  ],
  [
    'a segment that was marked as unused',
    historyOf(
      [
        ...sent('w1', markFirst(false), { at: 100, response: 1 }),
        look(50),
        look(500, [{ ...markedFirst, state: 'unused' }]),
      ],
      {
        ...restWith({ ...markedFirst, state: 'unused' }),
        audit: [marksAudit('marked', 'w1')],
      },
    ),
  ],
  [
    'a day that was marked as unused after its compaction',
    historyOf(
      [
        look(300, [compactedFirst, { ...markedFirst, state: 'unused' }]),
        ...sent('w1', markFirst(false), { at: 400, response: 1 }),
        look(500, [{ ...compactedFirst, state: 'unused' }]),
      ],
      {
        ...restWith({ ...markedFirst, state: 'unused' }),
        segments: [
          ...restWith({ ...markedFirst, state: 'unused' }).segments!,
          { ...compactedFirst, state: 'unused', file: 'sound' },
        ],
        audit: [marksAudit('marked', 'w1')],
      },
    ),
  ],
  ['a mark that changed nothing', historyOf([...sent('w1', markFirst(true), { at: 100, response: 0 })])],
  [
    'a segment that a rule drops',
    historyOf(
      [
        ...sent('w1', { kind: 'setRules', dataSource: dataSources.ruled, rules: drop }, { at: 100 }),
        look(500, [{ ...ruledFirst, state: 'unused' }]),
      ],
      {
        ...restWith({ ...ruledFirst, state: 'unused' }),
        rules: { ...quiet.rules, ruled: drop },
        audit: [{ type: 'rules', key: 'ruled', comment: 'w1', payload: JSON.stringify(drop) }],
      },
    ),
  ],
  [
    'a segment that was erased on request',
    historyOf(
      [
        ...sent('w1', markErased, { at: 100, response: 1 }),
        ...sent('w2', eraseFirst, { at: 200 }),
        look(500, [{ ...erasedFirst, state: 'gone' }]),
      ],
      {
        ...restWith({ ...erasedFirst, state: 'gone' }),
        tasks: [...quiet.tasks, ended('k')],
        audit: [marksAudit('erased', 'w1')],
      },
    ),
  ],
  [
    'a compaction configuration that was changed and removed',
    historyOf(
      [
        ...sent('w1', setCompaction(3), { at: 100, register: 'c' }),
        ...sent('w2', setCompaction(4), { at: 200, register: 'c' }),
        ...sent('w3', { kind: 'removeCompaction', dataSource: appended }, { at: 300, register: 'c' }),
      ],
      { audit: [compactionAudit('w1', 3), compactionAudit('w2', 4), compactionAudit('w3')] },
    ),
  ],
  [
    'a permission that was granted and revoked',
    historyOf([...revokedAt200, accepted(150), accepted(200)], revokedAudit),
  ],
  [
    'a user with access before a revocation is acknowledged, and again after an unanswered grant',
    historyOf(
      [
        ...sent('w1', setRight(true), { at: 100, outcome: 'unknown' }),
        ...sent('w2', setRight(false), { at: 200 }),
        accepted(300),
      ],
      { audit: [rightAudit('w2', false)] },
    ),
  ],
  [
    'a user with access at a server that was frozen during the revocation',
    historyOf(
      [...fault(150, 250, { kind: 'freeze', target: 'overlord' }), ...revokedAt200, accepted(300)],
      revokedAudit,
    ),
  ],
  [
    'a user with access at a server that did not confirm the revocation in time',
    historyOf(
      [
        ...sent('w1', setRight(true), { at: 100 }),
        ...sent('w2', setRight(false), { at: 200, answeredAt: 6300 }),
        accepted(6400),
      ],
      revokedAudit,
    ),
  ],
  [
    'an erasure that began before the mark was acknowledged',
    historyOf(
      [
        ...sent('w1', markErased, { at: 100, answeredAt: 300, response: 1 }),
        ...sent('w2', eraseFirst, { at: 200 }),
        look(500, [{ ...erasedFirst, state: 'unused' }]),
      ],
      {
        ...restWith({ ...erasedFirst, state: 'unused' }),
        tasks: [...quiet.tasks, ended('k')],
        audit: [marksAudit('erased', 'w1')],
      },
    ),
  ],
  [
    'rows that were added',
    historyOf([...sent('w1', ingest('t'), { at: 100 }), look(500, [newSegmentOf('t')])], restAfter('t', 3)),
  ],
  [
    'a task that failed and left nothing',
    historyOf(sent('w1', ingest('t'), { at: 100 }), { tasks: [...quiet.tasks, ended('t', 'FAILED')] }),
  ],
  [
    'rows that no server had loaded at the time of the query',
    historyOf(
      [
        ...sent('w1', ingest('t'), { at: 100 }),
        ...sent('w2', queryAppended, { at: 9000, response: firstRows }),
      ],
      restAfter('t', 3),
    ),
  ],
  ['a query that was answered', historyOf(sent('w1', queryStable, { at: 100, response: firstRows }))],
  [
    'a change of leader',
    bareHistoryOf([
      ...[0, 1000].flatMap((at) => [claim(at, 'coordinator'), lease(at, 'coordinator', 1)]),
      ...[9000, 10_000].flatMap((at) => [
        claim(at, 'coordinator', 'coordinator-2'),
        lease(at, 'coordinator-2', 2),
      ]),
      ...Array.from({ length: 13 }, (_, n) => claim(n * 5000, 'overlord')),
      ...Array.from({ length: 11 }, (_, n) => claim(10_000 + n * 5000, 'coordinator', 'coordinator-2')),
    ]),
  ],
  [
    'a late answer of the former leader during a takeover',
    bareHistoryOf([
      ...Array.from({ length: 13 }, (_, n) => [
        claim(n * 5000, 'overlord'),
        claim(300 + n * 5000, 'coordinator', 'coordinator-2'),
      ]).flat(),
      lease(0, 'coordinator', 1),
      { type: 'claim', from: 100, until: 200, role: 'coordinator', instance: 'coordinator' },
      claim(150, 'coordinator', 'coordinator-2'),
      lease(250, 'coordinator-2', 2),
    ]),
  ],
  [
    'no leader while Postgres is unavailable',
    bareHistoryOf([
      ...fault(1000, 30_000, { kind: 'kill', target: 'postgres' }),
      ...(['coordinator', 'overlord'] as const).flatMap((role) => [
        claim(500, role),
        ...Array.from({ length: 6 }, (_, n) => claim(35_000 + n * 5000, role)),
      ]),
      probe(40_000),
    ]),
  ],
  [
    'a server that was killed and started slowly',
    bareHistoryOf([
      ...Array.from({ length: 13 }, (_, n) => n * 5000).flatMap((at) => [
        claim(at, 'coordinator'),
        claim(at, 'overlord'),
      ]),
      ...fault(1000, 2000, { kind: 'kill', target: 'broker' }),
      { type: 'ready', at: 30_000, instance: 'broker' },
      probe(40_000),
    ]),
  ],
  [
    'a login without an answer',
    historyOf(sent('w1', { kind: 'login', login: 'admin' }, { at: 1, outcome: 'unknown', status: 503 })),
  ],
]

const bad: readonly [invariant: Invariant, name: string, history: Entry[]][] = [
  [
    'no acknowledged write is lost',
    'old rules',
    historyOf([...sent('w1', setRules(1), { at: 100 }), ...sent('w2', setRules(2), { at: 200 })], {
      rules: { ...quiet.rules, marked: load(1) },
      audit: [rulesAudit('w1', 1), rulesAudit('w2', 2)],
    }),
  ],
  ['no acknowledged write is lost', 'deleted rules', historyOf(sent('w1', setRules(1), { at: 100 }))],
  [
    'no acknowledged write is lost',
    'a compaction configuration that reappeared',
    historyOf(
      [
        ...sent(
          'w1',
          { kind: 'setCompaction', dataSource: appended, taskPriority: 3 },
          { at: 100, register: 'c' },
        ),
        ...sent('w2', { kind: 'removeCompaction', dataSource: appended }, { at: 200, register: 'c' }),
      ],
      { compaction: { [appended]: 3 } },
    ),
  ],
  [
    'no acknowledged write is lost',
    'a lost mark',
    historyOf(sent('w1', markFirst(false), { at: 100, response: 1 })),
  ],
  ['no acknowledged write is lost', 'a lost task', historyOf(sent('w1', ingest('t'), { at: 100 }))],
  [
    'no acknowledged write is lost',
    'a refused task that exists',
    historyOf(sent('w1', ingest('t'), { at: 100, outcome: 'refused', status: 409 }), restAfter('t', 3)),
  ],
  [
    'no acknowledged write is lost',
    'a permission that one server does not know',
    historyOf(sent('w1', { kind: 'setRight', granted: true }, { at: 100 }), {
      accepted: { coordinator: true, overlord: false },
    }),
  ],
  [
    'no acknowledged write is lost',
    'an old version of rules, read after their replacement',
    historyOf(
      [
        ...sent('w1', setRules(1), { at: 100 }),
        ...sent('w2', setRules(2), { at: 200 }),
        ...sent('w3', { kind: 'readRules', dataSource: 'marked' }, { at: 300, response: load(1) }),
      ],
      { rules: { ...quiet.rules, marked: load(2) }, audit: [rulesAudit('w1', 1), rulesAudit('w2', 2)] },
    ),
  ],
  [
    'no acknowledged write is lost',
    'a mark for erasure that changed nothing',
    historyOf(sent('w1', markErased, { at: 100, response: 1 }), { audit: [marksAudit('erased', 'w1')] }),
  ],
  [
    'no acknowledged write is lost',
    'an erasure that succeeded and erased nothing',
    historyOf(
      [
        ...sent('w1', markErased, { at: 100, response: 1 }),
        ...sent('w2', eraseFirst, { at: 200 }),
        look(500, [{ ...erasedFirst, state: 'unused' }]),
      ],
      {
        ...restWith({ ...erasedFirst, state: 'unused' }),
        tasks: [...quiet.tasks, ended('k')],
        audit: [marksAudit('erased', 'w1')],
      },
    ),
  ],
  ['no acknowledged write is lost', 'a cluster that never became idle', [begin, ...leaders(60_000)]],
  [
    'the audit log is complete',
    'a write without an entry',
    historyOf(sent('w1', setRules(1), { at: 100 }), { rules: { ...quiet.rules, marked: load(1) } }),
  ],
  [
    'the audit log is complete',
    'a write with two entries',
    historyOf(sent('w1', setRules(1), { at: 100 }), {
      rules: { ...quiet.rules, marked: load(1) },
      audit: [rulesAudit('w1', 1), rulesAudit('w1', 1)],
    }),
  ],
  [
    'the audit log is complete',
    'a refused write with an entry',
    historyOf(sent('w1', setRules(1), { at: 100, outcome: 'refused', status: 403 }), {
      audit: [rulesAudit('w1', 1)],
    }),
  ],
  [
    'the audit log is complete',
    'entries in a different order than the writes',
    historyOf([...sent('w1', setRules(1), { at: 100 }), ...sent('w2', setRules(2), { at: 200 })], {
      rules: { ...quiet.rules, marked: load(2) },
      audit: [rulesAudit('w2', 2), rulesAudit('w1', 1)],
    }),
  ],
  [
    'the audit log is complete',
    'a last entry that differs from the current state',
    historyOf(sent('w1', setRules(1), { at: 100 }), {
      rules: { ...quiet.rules, marked: load(2) },
      audit: [rulesAudit('w1', 1)],
    }),
  ],
  ...(
    [
      ['rules', setRules(1), { ...rulesAudit('w1', 1), payload: JSON.stringify(load(2)) }],
      ['rules', setRules(1), { ...rulesAudit('w1', 1), key: dataSources.ruled }],
      ['rules', setRules(1), { ...rulesAudit('w1', 1), type: 'segments' }],
      ['a compaction configuration', setCompaction(3), compactionAudit('w1', 4)],
      ['a compaction configuration', setCompaction(3), compactionAudit('w1')],
      ['a compaction configuration', setCompaction(3), { ...compactionAudit('w1', 3), key: 'ruled' }],
      [
        'the removal of a compaction configuration',
        { kind: 'removeCompaction', dataSource: appended },
        compactionAudit('w1', 3),
      ],
      ['a mark', markFirst(false), marksAudit('marked', 'w1', 'markUsed')],
      ['a mark', markFirst(false), marksAudit('erased', 'w1')],
      ['a permission', setRight(true), rightAudit('w1', false)],
    ] as const
  ).map(([what, work, entry]): [Invariant, string, Entry[]] => [
    'the audit log is complete',
    `an entry of ${what} with [${entry.type}] [${entry.key}] ${entry.payload}`,
    // The current state matches the entry, so the entry is wrong only about this write.
    historyOf(sent('w1', work, { at: 100, outcome: 'unknown' }), {
      rules: { ...quiet.rules, marked: load(2) },
      compaction: { [appended]: JSON.parse(entry.payload)?.taskPriority },
      audit: [entry],
    }),
  ]),
  [
    'the audit log is complete',
    'entries of compaction configurations in a different order than the writes',
    historyOf(
      [
        ...sent('w1', setCompaction(3), { at: 100, register: 'c' }),
        ...sent('w2', setCompaction(4), { at: 200, register: 'c' }),
      ],
      {
        compaction: { [appended]: 3 },
        audit: [compactionAudit('w2', 4), compactionAudit('w1', 3)],
      },
    ),
  ],
  [
    'the audit log is complete',
    'entries of permissions in a different order than the writes',
    historyOf(revokedAt200, {
      audit: [rightAudit('w2', false), rightAudit('w1', true)],
    }),
  ],
  [
    'the audit log is complete',
    'a last entry of a compaction configuration that differs from the current one',
    historyOf(sent('w1', setCompaction(3), { at: 100 }), {
      compaction: { [appended]: 4 },
      audit: [compactionAudit('w1', 3)],
    }),
  ],
  [
    'the audit log is complete',
    'an entry of a write that was never sent',
    historyOf([], { audit: [rulesAudit('w9', 1)] }),
  ],
  [
    'no segment is dropped, marked as unused, or erased without a rule or request',
    'a segment that became unused without a request',
    historyOf(
      [look(500, [{ ...markedFirst, state: 'unused' }])],
      restWith({ ...markedFirst, state: 'unused' }),
    ),
  ],
  [
    'no segment is dropped, marked as unused, or erased without a rule or request',
    'a segment that was dropped by rules that had been replaced long ago',
    historyOf(
      [
        ...sent('w1', { kind: 'setRules', dataSource: dataSources.ruled, rules: drop }, { at: 100 }),
        ...sent('w2', { kind: 'setRules', dataSource: dataSources.ruled, rules: load(2) }, { at: 200 }),
        look(30_000),
        look(30_500, [{ ...ruledFirst, state: 'unused' }]),
      ],
      restWith({ ...ruledFirst, state: 'unused' }),
    ),
  ],
  [
    'no segment is dropped, marked as unused, or erased without a rule or request',
    'a segment that became used without a request',
    historyOf([
      ...sent('w1', markFirst(false), { at: 100, response: 1 }),
      look(500, [{ ...markedFirst, state: 'unused' }]),
      look(900, [markedFirst]),
    ]),
  ],
  [
    'no segment is dropped, marked as unused, or erased without a rule or request',
    'a segment that was erased without a request',
    historyOf(
      [
        ...sent('w1', markFirst(false), { at: 100, response: 1 }),
        look(500, [{ ...markedFirst, state: 'unused' }]),
        look(900, [{ ...markedFirst, state: 'gone' }]),
      ],
      restWith({ ...markedFirst, state: 'gone' }),
    ),
  ],
  [
    'no segment is dropped, marked as unused, or erased without a rule or request',
    'a segment that was in no cache for a while',
    historyOf([{ type: 'held', from: 100, until: 120, missing: ['stable_2026-01-01'] }]),
  ],
  ...(['missing', 'damaged'] as const).map((file): [Invariant, string, Entry[]] => [
    'no segment is dropped, marked as unused, or erased without a rule or request',
    `a segment whose file is ${file}`,
    historyOf([], {
      segments: quiet.segments.map((segment, n) => (n === 0 ? { ...segment, file } : segment)),
    }),
  ]),
  [
    'every segment reaches the replicas that its rules require',
    'too few replicas',
    historyOf([], { served: { ...quiet.served, 'historical-2': [] } }),
  ],
  [
    'every segment reaches the replicas that its rules require',
    'too many replicas',
    historyOf([], { served: { ...quiet.served, 'historical-hot-1': [markedFirst.id] } }),
  ],
  [
    'every segment reaches the replicas that its rules require',
    'a replica of an unknown segment',
    historyOf([], { served: { ...quiet.served, 'historical-hot-1': ['nothing'] } }),
  ],
  [
    'every segment reaches the replicas that its rules require',
    'a segment that is still used although a rule drops it',
    historyOf([], { rules: { ...quiet.rules, ruled: drop } }),
  ],
  [
    'every segment reaches the replicas that its rules require',
    'an old version that is still used next to a newer one',
    historyOf([], {
      segments: [...quiet.segments, { ...markedFirst, id: 'newer', version: 'v2', file: 'sound' }],
    }),
  ],
  [
    'every segment reaches the replicas that its rules require',
    'a wait that timed out',
    historyOf([], {}, 'task [t] is RUNNING'),
  ],
  [
    'no task publishes twice or in part',
    'duplicate rows',
    historyOf([...sent('w1', ingest('t'), { at: 100 })], restAfter('t', 6)),
  ],
  [
    'no task publishes twice or in part',
    'missing rows',
    historyOf([...sent('w1', ingest('t'), { at: 100 })], restAfter('t', 0)),
  ],
  [
    'no task publishes twice or in part',
    'two segments of one task on the same day',
    historyOf(
      [...sent('w1', ingest('t'), { at: 100 }), look(500, [newSegmentOf('t'), newSegmentOf('t', 'again')])],
      restAfter('t', 3),
    ),
  ],
  [
    'no task publishes twice or in part',
    'a segment of a failed task',
    historyOf(
      [...sent('w1', ingest('t'), { at: 100 }), look(500, [newSegmentOf('t')])],
      restAfter('t', 3, 'FAILED'),
    ),
  ],
  [
    'no task publishes twice or in part',
    'rows that a later task has replaced',
    historyOf(sent('w1', ingest('t', dataSources.replaced, false), { at: 100 }), {
      tasks: [...quiet.tasks, ended('t', 'SUCCESS', 5, 6)],
    }),
  ],
  [
    'there is one leader at a time, and it is the one with the lease',
    'two leaders at a time',
    historyOf([claim(1500, 'coordinator', 'coordinator-2')]),
  ],
  [
    'there is one leader at a time, and it is the one with the lease',
    'a decreasing term',
    bareHistoryOf([lease(0, 'coordinator', 2), lease(100, 'coordinator', 1)]),
  ],
  [
    'there is one leader at a time, and it is the one with the lease',
    'a term of two servers',
    bareHistoryOf([lease(0, 'coordinator', 2), lease(100, 'coordinator-2', 2)]),
  ],
  [
    'there is one leader at a time, and it is the one with the lease',
    'a former leader that claims leadership again after another one did, before the lease is read',
    bareHistoryOf([
      lease(0, 'coordinator', 1),
      claim(100, 'coordinator'),
      claim(150, 'coordinator', 'coordinator-2'),
      claim(200, 'coordinator'),
      lease(300, 'coordinator-2', 2),
    ]),
  ],
  [
    'there is one leader at a time, and it is the one with the lease',
    'a former leader that was replaced in a term that was never read',
    bareHistoryOf([
      lease(0, 'coordinator', 1),
      claim(100, 'coordinator', 'coordinator-2'),
      claim(150, 'coordinator'),
      lease(300, 'coordinator-2', 2),
    ]),
  ],
  ...(
    [
      ['reader', 403],
      ['admin', 401],
      ['readerElsewhere', 200],
      ['readerElsewhere', 401],
      ['readerWrites', 200],
      ['stranger', 200],
      ['wrongPassword', 200],
      ['wrongPassword', 403],
    ] as const
  ).map(([kind, status]): [Invariant, string, Entry[]] => [
    'permissions never widen, and users who have them have access',
    `${kind} answered ${status}`,
    historyOf(login(kind, status)),
  ]),
  [
    'permissions never widen, and users who have them have access',
    'a user with access after a revocation',
    historyOf([...revokedAt200, accepted(300)], revokedAudit),
  ],
  [
    'permissions never widen, and users who have them have access',
    'a user with access after a revocation, while another server is down',
    historyOf(
      [...fault(150, 250, { kind: 'freeze', target: 'broker' }), ...revokedAt200, accepted(300)],
      revokedAudit,
    ),
  ],
  [
    'permissions never widen, and users who have them have access',
    'a user with access who was never granted a permission',
    historyOf([accepted(300)]),
  ],
  [
    'query results are complete',
    'missing rows in an answer',
    historyOf(sent('w1', queryStable, { at: 100, response: firstRows.slice(1) })),
  ],
  [
    'query results are complete',
    'an empty answer',
    historyOf(sent('w1', queryStable, { at: 100, response: [] })),
  ],
  [
    'query results are complete',
    'rows missing that an earlier answer had',
    historyOf(
      [
        ...sent('w1', ingest('t'), { at: 100 }),
        ...sent('w2', queryAppended, {
          at: 1000,
          response: [...firstRows, { task: 't', day: firstDay, rows: 3 }],
        }),
        ...sent('w3', queryAppended, { at: 2000, response: firstRows }),
      ],
      restAfter('t', 3),
    ),
  ],
  [
    'query results are complete',
    'too few rows of a task',
    historyOf(
      [
        ...sent('w1', ingest('t'), { at: 100 }),
        ...sent('w2', queryAppended, {
          at: 1000,
          response: [...firstRows, { task: 't', day: firstDay, rows: 2 }],
        }),
      ],
      restAfter('t', 3),
    ),
  ],
  [
    'a new leader takes over in time',
    'nobody who leads although a server could',
    bareHistoryOf([
      ...fault(1000, 40_000, { kind: 'freeze', target: 'coordinator' }),
      claim(900, 'coordinator'),
      claim(15_000, 'coordinator', 'coordinator-2'),
    ]),
  ],
  ['a new leader takes over in time', 'no leader at all', bareHistoryOf([])],
  [
    'the cluster recovers in time',
    'no successful probe after a fault',
    bareHistoryOf([
      ...fault(1000, 2000, { kind: 'flush', target: 'redis' }),
      probe(5000, 'write: 503'),
      probe(40_000),
    ]),
  ],
  [
    'the cluster recovers in time',
    'a server that was killed and never became ready again',
    historyOf(fault(1000, 2000, { kind: 'kill', target: 'broker' })),
  ],
  [
    'the cluster recovers in time',
    'no successful probe at all',
    bareHistoryOf([...fault(1000, 2000, { kind: 'flush', target: 'redis' })]),
  ],
]

describe('the check accepts', () => {
  for (const [name, history] of good) it(name, () => assert.deepEqual(checkHistory(history).violations, []))
})

describe('the check detects', () => {
  for (const [invariant, name, history] of bad) {
    it(`${name}: ${invariant}`, () => {
      const found = checkHistory(history).violations.map((violation) => violation.invariant)
      assert.ok(found.includes(invariant), `found only ${JSON.stringify(found)}`)
    })
  }

  it('violates each invariant in at least one history', () => {
    assert.deepEqual(new Set(bad.map(([invariant]) => invariant)), new Set(Object.keys(invariants)))
  })
})

it('uses the servers of a run in the made-up cluster', () => {
  assert.deepEqual(Object.keys(quiet.served), [...instances.historical].sort())
})

it('returns the longest times without a leader and until recovery', () => {
  const { longest } = checkHistory(
    bareHistoryOf([
      ...fault(1000, 2000, { kind: 'flush', target: 'redis' }),
      probe(4500),
      // The next fault came before recovery, so the recovery time is unknown.
      ...fault(6000, 7000, { kind: 'flush', target: 'redis' }),
      ...fault(12_000, 13_000, { kind: 'flush', target: 'redis' }),
      probe(14_000),
      ...Array.from({ length: 13 }, (_, n) => [
        claim(n * 5000, 'coordinator'),
        claim(n * 5000, 'overlord'),
      ]).flat(),
    ]),
  )
  assert.deepEqual(longest, { leaderlessMs: 5000 - 10, recoveryMs: 2500 + 10 })
})
