import { isDeepStrictEqual } from 'node:util'
import type { CountedRows, Entry, Outcome, Rest, SeenSegment } from './history.ts'
import {
  dataSources,
  days,
  type Fault,
  firstRowsPerDay,
  instances,
  intervalOf,
  type Login,
  type ScheduledRule,
  tiers,
  type Work,
  type WorkStep,
} from './schedule.ts'

/** What every history has to show. */
export const invariants = {
  'every acknowledged write is there': acknowledgedWrites,
  'the audit is complete': completeAudit,
  'no segment is dropped, marked unused or erased without a rule or request': segmentsStay,
  'copies reach what the rules ask for': copiesAsAsked,
  'no task publishes twice or in part': publishedOnce,
  'there is one leader at a time, and it is the one with the lease': oneLeader,
  'rights never widen, and those who have them are let in': rightsHold,
  'answers of queries are whole': wholeAnswers,
  'a leader is back in time': leaderBack,
  'the cluster works again in time': recovery,
} as const
export type Invariant = keyof typeof invariants

/** One thing that should not have happened. */
export interface Violation {
  readonly invariant: Invariant
  readonly what: string
}

/** The longest that a role may be without a leader while one of its servers could lead. */
export const leaderBackMs = 10_000
/** The longest until the cluster works again after all faults have ended. */
export const recoveryMs = 30_000
/** A decision may be carried out so long after the rules that it was made by have changed. */
const decisionMs = 10_000

/** All that a history shows that should not be; empty for a good one. */
export function checkHistory(entries: readonly Entry[]): Violation[] {
  const story = readStory(entries)
  return (Object.keys(invariants) as Invariant[]).flatMap((invariant) =>
    [...new Set(invariants[invariant](story))].map((what) => ({ invariant, what })),
  )
}

/** A piece of work with what became of it. */
interface Done {
  readonly step: WorkStep
  readonly work: Work
  readonly at: number
  /** When its answer came; never, where none did. */
  readonly answeredAt: number
  readonly outcome: Outcome
  readonly status: number | null
  readonly told: unknown
}

interface Story {
  readonly entries: readonly Entry[]
  readonly work: readonly Done[]
  readonly rest: Rest | undefined
}

function readStory(entries: readonly Entry[]): Story {
  const answers = new Map(ofType(entries, 'answer').map((answer) => [answer.id, answer]))
  const work = ofType(entries, 'work').map(({ step, at }): Done => {
    const answer = answers.get(step.id)
    return {
      step,
      work: step.work,
      at,
      answeredAt: answer && answer.outcome !== 'unknown' ? answer.at : Number.POSITIVE_INFINITY,
      outcome: answer?.outcome ?? 'unknown',
      status: answer?.status ?? null,
      told: answer?.told,
    }
  })
  return {
    entries,
    work,
    rest: ofType(entries, 'rest').at(-1)?.rest,
  }
}

function ofType<Type extends Entry['type']>(
  entries: readonly Entry[],
  type: Type,
): Extract<Entry, { type: Type }>[] {
  return entries.filter((entry): entry is Extract<Entry, { type: Type }> => entry.type === type)
}

const ofKind = <Kind extends Work['kind']>(story: Story, ...kinds: Kind[]) =>
  story.work.filter((done): done is Done & { work: Extract<Work, { kind: Kind }> } =>
    (kinds as string[]).includes(done.work.kind),
  )

const mayHaveHappened = ({ outcome }: Done): boolean => outcome !== 'refused'

/** Writes of one register of which the last one may be what is there: the last that was done, and all of unknown end. */
function possiblyLast<Some extends Done>(writes: readonly Some[]): Some[] {
  const lastDone = writes.findLast(({ outcome }) => outcome === 'done')
  return writes.filter((write) => write === lastDone || write.outcome === 'unknown')
}

function byRegister<Some extends Done>(writes: readonly Some[]): Map<string, Some[]> {
  return Map.groupBy(writes, ({ step }) => step.register)
}

function acknowledgedWrites(story: Story): string[] {
  const { rest } = story
  if (!rest) return ['The cluster never came to rest']
  const found: string[] = []
  const check = <Some extends Done>(
    writes: readonly Some[],
    present: (register: Some) => unknown,
    valueIn: (write: Some) => unknown,
    initial: unknown,
  ) => {
    for (const [register, group] of byRegister(writes)) {
      const possible = possiblyLast(group)
      const values = possible.map(valueIn)
      if (!group.some(({ outcome }) => outcome === 'done')) values.push(initial)
      const value = present(group[0] as Some)
      if (values.some((other) => isDeepStrictEqual(other, value))) continue
      const writers = possible.map(({ step }) => step.id).join(', ')
      found.push(`[${register}] is ${JSON.stringify(value)}, which none of [${writers}] has written`)
    }
  }
  check(
    ofKind(story, 'setRules'),
    ({ work }) => rest.rules[work.dataSource],
    ({ work }) => work.rules,
    undefined,
  )
  check(
    ofKind(story, 'setCompaction', 'removeCompaction'),
    ({ work }) => rest.compaction[work.dataSource],
    ({ work }) => (work.kind === 'setCompaction' ? work.taskPriority : undefined),
    undefined,
  )
  check(
    ofKind(story, 'mark').filter(({ work }) => work.dataSource === dataSources.marked),
    ({ work }) => statesOf(rest, work.dataSource, work.day),
    ({ work }) => (work.used ? ['used'] : ['unused']),
    ['used'],
  )
  for (const [instance, isIn] of Object.entries(rest.letIn)) {
    check(
      ofKind(story, 'setRight').map((write) => ({
        ...write,
        step: { ...write.step, register: `right at ${instance}` },
      })),
      () => isIn,
      ({ work }) => work.granted,
      false,
    )
  }
  const tasks = new Map(rest.tasks.map((task) => [task.id, task]))
  for (const { work, outcome, step } of ofKind(story, 'ingest', 'kill')) {
    const task = tasks.get(work.task)
    if (outcome === 'done' && !task) found.push(`Task [${work.task}] of [${step.id}] is not there`)
    if (outcome === 'refused' && task) found.push(`Task [${work.task}] was refused and is there`)
    if (task && task.state !== 'SUCCESS' && task.state !== 'FAILED')
      found.push(`Task [${work.task}] is not over: ${task.state}`)
  }
  for (const { work, told, at, answeredAt, outcome, step } of ofKind(story, 'readRules')) {
    if (outcome !== 'done') continue
    const writes = ofKind(story, 'setRules').filter((write) => write.work.dataSource === work.dataSource)
    const possible = writes.filter(
      (write) =>
        mayHaveHappened(write) &&
        write.at < answeredAt &&
        !writes.some(
          (later) => later.outcome === 'done' && later.answeredAt < at && later.at > write.answeredAt,
        ),
    )
    const nothingYet = !writes.some((write) => write.outcome === 'done' && write.answeredAt < at)
    const values = [...possible.map((write): unknown => write.work.rules), ...(nothingYet ? [[]] : [])]
    if (!values.some((value) => isDeepStrictEqual(value, told)))
      found.push(
        `[${step.id}] read ${JSON.stringify(told)} of [${work.dataSource}], which was not there then`,
      )
  }
  return found
}

function statesOf(rest: Rest, dataSource: string, day: string): string[] {
  const states = rest.segments
    .filter((segment) => segment.dataSource === dataSource && segment.day === day)
    .map(({ state }) => state)
  return [...new Set(states)].sort()
}

/** How often a piece of work has to stand in the audit: a least and a most. */
function entriesOf({ outcome, work, told }: Done): readonly [number, number] {
  const isWrite = ['setRules', 'setCompaction', 'removeCompaction', 'mark', 'setRight'].includes(work.kind)
  if (!isWrite || outcome === 'refused') return [0, 0]
  if (outcome === 'unknown') return [0, 1]
  return work.kind === 'mark' && told === 0 ? [0, 0] : [1, 1]
}

function completeAudit(story: Story): string[] {
  const { rest } = story
  if (!rest) return []
  const found: string[] = []
  const byWork = Map.groupBy(rest.audit, ({ comment }) => comment)
  for (const done of story.work) {
    const [least, most] = entriesOf(done)
    const count = byWork.get(done.step.id)?.length ?? 0
    if (count < least || count > most)
      found.push(`[${done.step.id}] (${done.work.kind}, ${done.outcome}) has ${count} entries, not ${most}`)
  }
  const known = new Set(story.work.map(({ step }) => step.id))
  for (const { comment } of rest.audit)
    if (/^w\d+$/.test(comment) && !known.has(comment))
      found.push(`An entry is of [${comment}], which was not sent`)
  const places = new Map(rest.audit.map(({ comment }, place) => [comment, place]))
  for (const [register, writes] of byRegister(ofKind(story, 'setRules'))) {
    for (const earlier of writes) {
      for (const later of writes) {
        const [first, second] = [places.get(earlier.step.id), places.get(later.step.id)]
        if (first === undefined || second === undefined || earlier.answeredAt >= later.at || first < second)
          continue
        found.push(`In the audit of [${register}] [${later.step.id}] stands before [${earlier.step.id}]`)
      }
    }
    const [sample] = writes
    const last = rest.audit.findLast(({ type, key }) => type === 'rules' && key === sample?.work.dataSource)
    if (last && !isDeepStrictEqual(JSON.parse(last.payload), rest.rules[last.key]))
      found.push(`The last entry of [${register}] is not what is there`)
  }
  return found
}

const dropsDay = (rules: readonly ScheduledRule[], day: string): boolean => {
  const first = rules.find((rule) => rule.type === 'loadForever' || rule.interval === intervalOf(day))
  return first?.type === 'dropByInterval'
}

function segmentsStay(story: Story): string[] {
  const found: string[] = []
  const seen = new Map<string, { segment: SeenSegment; from: number }>()
  const newest = new Map<string, string>()
  const marks = ofKind(story, 'mark').filter(mayHaveHappened)
  const kills = ofKind(story, 'kill').filter(mayHaveHappened)
  const rules = ofKind(story, 'setRules').filter(mayHaveHappened)

  /** Whether a request that was sent by `until` may have taken effect after `from`. */
  const wasAt = ({ at, answeredAt }: Done, from: number, until: number) => at < until && answeredAt >= from
  const wasMarked = ({ dataSource, day }: SeenSegment, used: boolean, from: number, until: number) =>
    marks.some(
      (mark) =>
        mark.work.dataSource === dataSource &&
        mark.work.day === day &&
        mark.work.used === used &&
        wasAt(mark, from, until),
    )
  const wasDropped = ({ dataSource, day }: SeenSegment, from: number, until: number) =>
    rules.some(
      (write) =>
        write.work.dataSource === dataSource &&
        dropsDay(write.work.rules, day) &&
        write.at < until &&
        !rules.some(
          (later) =>
            later.work.dataSource === dataSource &&
            later.outcome === 'done' &&
            later.at > write.answeredAt &&
            later.answeredAt < from - decisionMs,
        ),
    )

  let lastLook = 0
  for (const { changed, from, until } of ofType(story.entries, 'segments')) {
    for (const { dataSource, day, version } of changed) {
      const key = `${dataSource} ${day}`
      const known = newest.get(key)
      if (known === undefined || version > known) newest.set(key, version)
    }
    for (const segment of changed) {
      const before = seen.get(segment.id)
      seen.set(segment.id, { segment, from })
      // Nothing else was seen since the last look, and that is when it was last so.
      const since = before ? lastLook : 0
      const was = before?.segment.state ?? (segment.task === null ? undefined : 'used')
      const isHidden = (newest.get(`${segment.dataSource} ${segment.day}`) ?? '') > segment.version
      const tell = (what: string) =>
        found.push(`Segment [${segment.id}] ${what} between ${Math.round(since)} and ${Math.round(until)} ms`)
      if (was === 'used' && segment.state !== 'used') {
        const hasReason =
          isHidden || wasMarked(segment, false, since, until) || wasDropped(segment, since, until)
        if (!hasReason) tell(`became ${segment.state} without a reason`)
      }
      if (was === 'unused' && segment.state === 'used' && !wasMarked(segment, true, since, until))
        tell('became used without a request')
      if (segment.state === 'gone') {
        const wasAsked = kills.some(
          ({ work, at }) => work.dataSource === segment.dataSource && work.day === segment.day && at < until,
        )
        if (!wasAsked) tell('was erased without a request')
      }
    }
    lastLook = from
  }
  for (const { missing, from } of ofType(story.entries, 'held'))
    for (const id of missing) found.push(`Segment [${id}] lay in no cache after ${Math.round(from)} ms`)
  for (const { id, file } of story.rest?.segments ?? [])
    if (file !== 'sound') found.push(`The file of segment [${id}] in deep storage is ${file}`)
  return found
}

/** Copies by tier that the rules at rest ask for; undefined where no rule applies or the first one drops. */
function copiesAskedFor(
  rest: Rest,
  { dataSource, day }: SeenSegment,
): Readonly<Record<string, number>> | undefined {
  const rules = [...(rest.rules[dataSource] ?? []), ...(rest.rules._default ?? [])] as ScheduledRule[]
  const first = rules.find((rule) => rule.type === 'loadForever' || rule.interval === intervalOf(day))
  return first === undefined || first.type === 'dropByInterval' ? undefined : first.tieredReplicants
}

/** What is not as the rules ask for when the cluster is at rest; also how a run knows that it is. */
export function wrongCopies(rest: Pick<Rest, 'rules' | 'segments' | 'served'>): string[] {
  const found: string[] = []
  const newest = new Map<string, string>()
  for (const { dataSource, day, version, state } of rest.segments) {
    const key = `${dataSource} ${day}`
    if (state === 'used' && version > (newest.get(key) ?? '')) newest.set(key, version)
  }
  for (const segment of rest.segments) {
    const asked = segment.state === 'used' ? copiesAskedFor(rest as Rest, segment) : {}
    const isHidden = (newest.get(`${segment.dataSource} ${segment.day}`) ?? '') > segment.version
    if (asked === undefined || (isHidden && segment.state === 'used')) {
      found.push(`Segment [${segment.id}] is used, and should not be`)
      continue
    }
    for (const [tier, servers] of Object.entries(tiers)) {
      const wanted = Math.min(asked[tier] ?? 0, servers.length)
      const holders = servers.filter((server) => rest.served[server]?.includes(segment.id))
      if (holders.length !== wanted)
        found.push(`Segment [${segment.id}] has ${holders.length} copies in tier [${tier}], not ${wanted}`)
    }
  }
  const known = new Set(rest.segments.map(({ id }) => id))
  for (const [server, ids] of Object.entries(rest.served))
    for (const id of ids) if (!known.has(id)) found.push(`[${server}] serves [${id}], which is no segment`)
  return found
}

function copiesAsAsked({ entries, rest }: Story): string[] {
  const problem = ofType(entries, 'rest').at(-1)?.problem
  return [
    ...(problem ? [`The cluster did not come to rest: ${problem}`] : []),
    ...(rest ? wrongCopies(rest) : []),
  ]
}

/** The rows that a task brings, by day. */
function rowsOfTasks(story: Story): Map<string, ReadonlyMap<string, number>> {
  const found = new Map<string, ReadonlyMap<string, number>>()
  for (const dataSource of [...Object.values(dataSources)].flat())
    found.set(`first-${dataSource}`, new Map(days.map((day) => [day, firstRowsPerDay])))
  for (const { work } of ofKind(story, 'ingest'))
    found.set(work.task, new Map(work.days.map((day) => [day, work.rowsPerDay])))
  return found
}

function publishedOnce(story: Story): string[] {
  const { rest } = story
  if (!rest) return []
  const found: string[] = []
  const expected = rowsOfTasks(story)
  const tasks = new Map(rest.tasks.map((task) => [task.id, task]))
  const ingested = new Set(ofKind(story, 'ingest').map(({ work }) => work.task))
  const made = new Map<string, Set<string>>()
  for (const { changed } of ofType(story.entries, 'segments')) {
    for (const { id, task, day } of changed) {
      if (task === null || !ingested.has(task)) continue
      const key = `${task} ${day}`
      made.set(key, (made.get(key) ?? new Set()).add(id))
      if (tasks.get(task)?.state === 'FAILED') found.push(`Task [${task}] failed and has published [${id}]`)
    }
  }
  for (const [key, ids] of made)
    if (ids.size > 1) found.push(`Task and day [${key}] have segments ${[...ids].join(', ')}`)

  for (const dataSource of dataSources.appended) {
    const rows = rest.rows[dataSource] ?? []
    found.push(...wrongRows(rows, expected).map((what) => `In [${dataSource}] ${what}`))
    const mine = ofKind(story, 'ingest').filter(({ work }) => work.dataSource === dataSource)
    const present = new Set(rows.map(({ task }) => task))
    for (const { work } of mine) {
      const hasSucceeded = tasks.get(work.task)?.state === 'SUCCESS'
      if (hasSucceeded !== present.has(work.task))
        found.push(
          `Rows of task [${work.task}] are ${hasSucceeded ? 'not ' : ''}there, which ${hasSucceeded ? 'succeeded' : 'did not succeed'}`,
        )
    }
  }
  const replaced = rest.rows[dataSources.replaced] ?? []
  for (const day of days) {
    const there = replaced.filter((row) => row.day === day)
    if (there.length !== 1) {
      found.push(`Day [${day}] of [${dataSources.replaced}] has rows of ${there.length} tasks, not of one`)
      continue
    }
    const [row] = there as [CountedRows]
    if (row.rows !== expected.get(row.task)?.get(day))
      found.push(`Day [${day}] of [${dataSources.replaced}] has ${row.rows} rows of [${row.task}]`)
    const writer = tasks.get(row.task)
    const later = ofKind(story, 'ingest').find(({ work }) => {
      const other = tasks.get(work.task)
      if (work.dataSource !== dataSources.replaced || !work.days.includes(day) || other?.state !== 'SUCCESS')
        return false
      return writer === undefined || other.createdAt > (writer.finishedAt ?? Number.POSITIVE_INFINITY)
    })
    if (later) found.push(`Day [${day}] has rows of [${row.task}], which [${later.work.task}] has replaced`)
  }
  return found
}

/** Rows of tasks that came in part, or more often than once. */
function wrongRows(
  rows: readonly CountedRows[],
  expected: ReadonlyMap<string, ReadonlyMap<string, number>>,
): string[] {
  const found: string[] = []
  for (const [task, counted] of Map.groupBy(rows, (row) => row.task)) {
    const wanted = expected.get(task) ?? new Map<string, number>()
    const there = new Map(counted.map(({ day, rows: count }) => [day, count]))
    for (const day of new Set([...wanted.keys(), ...there.keys()]))
      if (wanted.get(day) !== there.get(day))
        found.push(`task [${task}] has ${there.get(day) ?? 0} rows on [${day}], not ${wanted.get(day) ?? 0}`)
  }
  return found
}

/** What no server has loaded yet may be missing in an answer, but never what an earlier one had. */
function wholeAnswers(story: Story): string[] {
  const expected = rowsOfTasks(story)
  const queries = ofKind(story, 'query').filter(
    ({ outcome, work }) => outcome === 'done' && work.dataSource !== dataSources.replaced,
  )
  const key = ({ task, day }: CountedRows) => `[${task}] on [${day}]`
  return queries.flatMap(({ work, told, at, step }) => {
    const rows = told as readonly CountedRows[]
    const there = new Set(rows.map(key))
    const wrong = rows
      .filter((row) => row.rows !== expected.get(row.task)?.get(row.day))
      .map((row) => `The answer to [${step.id}] has ${row.rows} rows of ${key(row)}`)
    const first = days.map((day) => key({ task: `first-${work.dataSource}`, day, rows: firstRowsPerDay }))
    const seenBefore = queries
      .filter((other) => other.work.dataSource === work.dataSource && other.answeredAt < at)
      .flatMap((other) => (other.told as readonly CountedRows[]).map(key))
    const missing = [...first, ...seenBefore].filter((row) => !there.has(row))
    return [...wrong, ...missing.map((row) => `The answer to [${step.id}] has nothing of ${row}`)]
  })
}

function oneLeader({ entries }: Story): string[] {
  const found: string[] = []
  const looks = ofType(entries, 'leases')
  const roles = ['coordinator', 'overlord'] as const
  for (const role of roles) {
    // The times from which and until which an instance is known to have had the lease.
    const held = looks.flatMap(({ from, until, leases }) => {
      const lease = leases.find((other) => other.role === role)
      return lease ? [{ from, until, ...lease }] : []
    })
    for (const [index, now] of held.entries()) {
      const before = held[index - 1]
      if (!before) continue
      if (now.term < before.term)
        found.push(`The term of [${role}] went from ${before.term} back to ${now.term}`)
      if (now.term === before.term && now.instance !== before.instance)
        found.push(`Term ${now.term} of [${role}] was of [${before.instance}] and then of [${now.instance}]`)
    }
    for (const { instance, from, until } of ofType(entries, 'claim').filter((claim) => claim.role === role)) {
      // Between two looks at the same lease nobody else had it.
      const other = held.find((look, index) => {
        const next = held[index + 1]
        return (
          look.instance !== instance && next?.term === look.term && look.until <= from && next.from >= until
        )
      })
      if (other)
        found.push(
          `[${instance}] said after ${Math.round(from)} ms that it leads, while [${other.instance}] had term ${other.term}`,
        )
    }
  }
  return found
}

const isSuccess = (status: number | null): boolean => status !== null && status < 400

/** What may never be answered to each kind of caller. */
const wrongAnswers: Readonly<Record<Login, (status: number | null) => boolean>> = {
  admin: (status) => status === 401 || status === 403,
  reader: (status) => status === 401 || status === 403,
  readerElsewhere: (status) => isSuccess(status) || status === 401,
  readerWrites: (status) => isSuccess(status) || status === 401,
  stranger: (status) => isSuccess(status) || status === 401,
  wrongPassword: (status) => status !== null && status < 500 && status !== 401 && status !== 429,
}

function rightsHold(story: Story): string[] {
  return ofKind(story, 'login').flatMap(({ work, status, step }) =>
    wrongAnswers[work.login](status)
      ? [`[${work.login}] was answered ${status} by [${step.to}] ([${step.id}])`]
      : [],
  )
}

interface Span {
  readonly from: number
  readonly until: number
}

interface FaultSpan extends Span {
  readonly fault: Fault
}

function faultsOf(entries: readonly Entry[]): FaultSpan[] {
  const ends = new Map(ofType(entries, 'faultEnd').map((end) => [end.id, end]))
  return ofType(entries, 'fault').flatMap(({ step, at }) => {
    const end = ends.get(step.id)
    return end?.skipped === undefined
      ? [{ fault: step.fault, from: at, until: end?.at ?? Number.POSITIVE_INFINITY }]
      : []
  })
}

/** When an instance could not lead: it was at fault, or was not ready again yet. */
function awaySpans(entries: readonly Entry[], instance: string): Span[] {
  const readies = ofType(entries, 'ready').filter((ready) => ready.instance === instance)
  return faultsOf(entries)
    .filter(
      ({ fault }) => fault.target === instance || fault.target === 'postgres' || isCutOff(fault, instance),
    )
    .map(({ from, until, fault }) => {
      const ready = fault.kind === 'kill' ? readies.find(({ at }) => at >= until)?.at : until
      return { from, until: ready ?? Number.POSITIVE_INFINITY }
    })
}

const isCutOff = (fault: Fault, instance: string): boolean =>
  'to' in fault && fault.target === instance && fault.to === 'postgres'

function leaderBack({ entries }: Story): string[] {
  const found: string[] = []
  for (const role of ['coordinator', 'overlord'] as const) {
    const away = instances[role].map((instance) => awaySpans(entries, instance))
    /** The time within a span in which some instance could lead, in one piece: the longest such. */
    const longestFree = ({ from, until }: Span): number => {
      const edges = [from, until, ...away.flat().flatMap((span) => [span.from, span.until])]
        .filter((edge) => edge >= from && edge <= until)
        .sort((a, b) => a - b)
      let longest = 0
      let freeSince: number | undefined
      for (const [index, edge] of edges.slice(0, -1).entries()) {
        const middle = (edge + (edges[index + 1] as number)) / 2
        const isBlocked = away.every((spans) =>
          spans.some((span) => span.from <= middle && middle < span.until),
        )
        freeSince = isBlocked ? undefined : (freeSince ?? edge)
        if (freeSince !== undefined) longest = Math.max(longest, (edges[index + 1] as number) - freeSince)
      }
      return longest
    }
    const claims = ofType(entries, 'claim')
      .filter((claim) => claim.role === role)
      .sort((a, b) => a.from - b.from)
    const end = ofType(entries, 'rest').at(-1)?.at ?? 0
    for (const [index, claim] of claims.entries()) {
      const next = claims[index + 1]?.from ?? Math.max(end, claim.until)
      const gap = longestFree({ from: claim.until, until: next })
      if (gap > leaderBackMs)
        found.push(`[${role}] had no leader for ${Math.round(gap)} ms after ${Math.round(claim.until)} ms`)
    }
    if (claims.length === 0) found.push(`[${role}] never had a leader`)
  }
  return found
}

function recovery({ entries }: Story): string[] {
  const faults = faultsOf(entries)
  const probes = ofType(entries, 'probe').filter(({ problem }) => problem === null)
  return faults.flatMap(({ until }) => {
    if (faults.some((other) => other.from <= until && other.until > until)) return []
    const next = Math.min(...faults.filter((other) => other.from > until).map(({ from }) => from))
    const recovered = probes.find(({ from }) => from >= until)?.until ?? Number.POSITIVE_INFINITY
    const tookMs = Math.min(recovered, next) - until
    if (tookMs <= recoveryMs) return []
    return [
      `${tookMs === Number.POSITIVE_INFINITY ? 'Never' : `Only ${Math.round(tookMs)} ms`} after the faults that ended at ${Math.round(until)} ms it worked again`,
    ]
  })
}
