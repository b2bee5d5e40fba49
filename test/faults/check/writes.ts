import { isDeepStrictEqual } from 'node:util'
import type { Rest, SeenAudit } from '../history.ts'
import { dataSources, type Work } from '../schedule.ts'
import { byRegister, type Done, isPossiblyDone, ofKind, possiblyLast, type Story } from './story.ts'

/** Acknowledged writes are in the final state, and in every later read. */
export function acknowledgedWrites(story: Story): string[] {
  const { rest } = story
  if (!rest) return ['The cluster never became idle']
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
      found.push(`[${register}] is ${JSON.stringify(value)}, which was not written by any of [${writers}]`)
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
    ({ work }) => newestStatesOf(rest, work.dataSource, work.day),
    ({ work }) => (work.used ? ['used'] : ['unused']),
    ['used'],
  )
  // Nothing marks these segments used again, so one acknowledged mark decides. Erased segments no longer exist.
  for (const { work, outcome, step } of ofKind(story, 'mark'))
    if (work.dataSource === dataSources.erased && !work.used && outcome === 'done') {
      if (statesOf(rest, work.dataSource, work.day).includes('used'))
        found.push(`[${step.id}] marked [${work.dataSource}] unused on [${work.day}], but it is used`)
    }
  for (const [instance, isIn] of Object.entries(rest.accepted)) {
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
  return [...found, ...unfinishedTasks(story, rest), ...impossibleReads(story)]
}

function unfinishedTasks(story: Story, rest: Rest): string[] {
  const found: string[] = []
  const tasks = new Map(rest.tasks.map((task) => [task.id, task]))
  for (const { work, outcome, step } of ofKind(story, 'ingest', 'kill')) {
    const task = tasks.get(work.task)
    if (outcome === 'done' && !task) found.push(`Task [${work.task}] of [${step.id}] does not exist`)
    if (outcome === 'refused' && task) found.push(`Task [${work.task}] was refused but exists`)
    if (task && task.state !== 'SUCCESS' && task.state !== 'FAILED')
      found.push(`Task [${work.task}] is not finished: ${task.state}`)
  }
  for (const { work, at } of ofKind(story, 'kill')) {
    const wasUnused = ofKind(story, 'mark').some(
      (mark) =>
        mark.work.dataSource === work.dataSource &&
        mark.work.day === work.day &&
        !mark.work.used &&
        mark.outcome === 'done' &&
        mark.answeredAt <= at,
    )
    const left = statesOf(rest, work.dataSource, work.day)
    if (wasUnused && tasks.get(work.task)?.state === 'SUCCESS' && left.length > 0)
      found.push(`Task [${work.task}] succeeded, but [${work.dataSource}] still has data on [${work.day}]`)
  }
  return found
}

function impossibleReads(story: Story): string[] {
  const found: string[] = []
  for (const { work, response, at, answeredAt, outcome, step } of ofKind(story, 'readRules')) {
    if (outcome !== 'done') continue
    const writes = ofKind(story, 'setRules').filter((write) => write.work.dataSource === work.dataSource)
    const possible = writes.filter(
      (write) =>
        isPossiblyDone(write) &&
        write.at < answeredAt &&
        !writes.some(
          (later) => later.outcome === 'done' && later.answeredAt < at && later.at > write.answeredAt,
        ),
    )
    const nothingYet = !writes.some((write) => write.outcome === 'done' && write.answeredAt < at)
    const values = [...possible.map((write): unknown => write.work.rules), ...(nothingYet ? [[]] : [])]
    if (!values.some((value) => isDeepStrictEqual(value, response)))
      found.push(
        `[${step.id}] read ${JSON.stringify(response)} from [${work.dataSource}], which was not its state then`,
      )
  }
  return found
}

/** Returns the states of the segments of the newest version of a day, which a compaction may have written. */
function newestStatesOf(rest: Rest, dataSource: string, day: string): string[] {
  const versions = rest.segments
    .filter((segment) => segment.dataSource === dataSource && segment.day === day)
    .map(({ version }) => version)
  const newest = versions.sort().at(-1)
  return statesOf(
    { ...rest, segments: rest.segments.filter(({ version }) => version === newest) },
    dataSource,
    day,
  )
}

function statesOf(rest: Rest, dataSource: string, day: string): string[] {
  const states = rest.segments
    .filter((segment) => segment.dataSource === dataSource && segment.day === day)
    .map(({ state }) => state)
  return [...new Set(states)].sort()
}

/** The min and max number of audit entries of a piece of work. */
function entriesOf({ outcome, work, response }: Done): readonly [number, number] {
  const isWrite = ['setRules', 'setCompaction', 'removeCompaction', 'mark', 'setRight'].includes(work.kind)
  if (!isWrite || outcome === 'refused') return [0, 0]
  if (outcome === 'unknown') return [0, 1]
  return work.kind === 'mark' && response === 0 ? [0, 0] : [1, 1]
}

/** The audit log has one entry per write, in the order of the writes, and nothing else. */
export function completeAudit(story: Story): string[] {
  const { rest } = story
  if (!rest) return []
  const found: string[] = []
  const byWork = Map.groupBy(rest.audit, ({ comment }) => comment)
  for (const done of story.work) {
    const [min, max] = entriesOf(done)
    const count = byWork.get(done.step.id)?.length ?? 0
    if (count < min || count > max)
      found.push(
        `[${done.step.id}] (${done.work.kind}, ${done.outcome}) has ${count} entries, expected ${max}`,
      )
  }
  const known = new Set(story.work.map(({ step }) => step.id))
  for (const { comment } of rest.audit)
    if (/^w\d+$/.test(comment) && !known.has(comment))
      found.push(`An entry belongs to [${comment}], which was not sent`)
  const works = new Map(story.work.map(({ step, work }) => [step.id, work]))
  for (const entry of rest.audit) {
    const work = works.get(entry.comment)
    if (work && !isEntryOf(work, entry))
      found.push(
        `The entry of [${entry.comment}] (${work.kind}) is for [${entry.type}] [${entry.key}] with payload ${entry.payload}`,
      )
  }
  const places = new Map(rest.audit.map(({ comment }, place) => [comment, place]))
  const ordered = ofKind(story, 'setRules', 'setCompaction', 'removeCompaction', 'setRight')
  for (const [register, writes] of byRegister<Done>(ordered)) {
    for (const earlier of writes) {
      for (const later of writes) {
        const [first, second] = [places.get(earlier.step.id), places.get(later.step.id)]
        if (first === undefined || second === undefined || earlier.answeredAt >= later.at || first < second)
          continue
        found.push(`In the audit log of [${register}], [${later.step.id}] is before [${earlier.step.id}]`)
      }
    }
  }
  for (const { work } of ofKind(story, 'setRules', 'setCompaction', 'removeCompaction')) {
    const isRules = work.kind === 'setRules'
    const last = rest.audit.findLast(
      ({ type, key }) => type === (isRules ? 'rules' : 'compaction.config') && key === work.dataSource,
    )
    if (!last) continue
    const said: unknown = JSON.parse(last.payload)
    const isThere = isRules
      ? isDeepStrictEqual(said, rest.rules[work.dataSource])
      : priorityIn(said) === rest.compaction[work.dataSource]
    if (!isThere)
      found.push(
        `The last entry for the ${isRules ? 'rules' : 'compaction'} of [${work.dataSource}] differs from the current state`,
      )
  }
  return found
}

/** The priority in a compaction configuration according to the audit log; undefined if it was removed. */
const priorityIn = (config: unknown): unknown =>
  (config as { readonly taskPriority?: unknown } | null)?.taskPriority

/** Whether an entry matches what a piece of work wrote. */
function isEntryOf(work: Work, { type, key, payload }: SeenAudit): boolean {
  const says = (otherType: string, otherKey: string, isSaid: (said: unknown) => boolean) =>
    type === otherType && key === otherKey && isSaid(JSON.parse(payload))
  switch (work.kind) {
    case 'setRules':
      return says('rules', work.dataSource, (said) => isDeepStrictEqual(said, work.rules))
    case 'setCompaction':
      return says('compaction.config', work.dataSource, (said) => priorityIn(said) === work.taskPriority)
    case 'removeCompaction':
      return says('compaction.config', work.dataSource, (said) => said === null)
    case 'mark':
      return says('segments', work.dataSource, (said) =>
        Object.hasOwn(said as object, work.used ? 'markUsed' : 'markUnused'),
      )
    case 'setRight':
      return (
        type === 'security' &&
        (JSON.parse(payload) as { readonly method?: unknown }).method === (work.granted ? 'POST' : 'DELETE')
      )
    default:
      return false
  }
}
