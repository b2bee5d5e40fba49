import type { CountedRows } from '../history.ts'
import { dataSources, days, firstRowsPerDay, firstTask } from '../schedule.ts'
import { ofKind, ofType, type Story } from './story.ts'

/** The rows that a task writes, by day. */
function rowsOfTasks(story: Story): Map<string, ReadonlyMap<string, number>> {
  const found = new Map<string, ReadonlyMap<string, number>>()
  found.set(firstTask, new Map(days.map((day) => [day, firstRowsPerDay])))
  for (const { work } of ofKind(story, 'ingest'))
    found.set(work.task, new Map(work.days.map((day) => [day, work.rowsPerDay])))
  return found
}

/** Rows written by tasks are complete and not duplicated. */
export function publishedOnce(story: Story): string[] {
  const { rest } = story
  if (!rest) return []
  const found: string[] = []
  const expected = rowsOfTasks(story)
  const tasks = new Map(rest.tasks.map((task) => [task.id, task]))
  const ingested = new Set(ofKind(story, 'ingest').map(({ work }) => work.task))
  const createdBy = new Map<string, Set<string>>()
  for (const { changed } of ofType(story.entries, 'segments')) {
    for (const { id, task, day } of changed) {
      if (task === null || !ingested.has(task)) continue
      const key = `${task} ${day}`
      createdBy.set(key, (createdBy.get(key) ?? new Set()).add(id))
      if (tasks.get(task)?.state === 'FAILED') found.push(`Task [${task}] failed but published [${id}]`)
    }
  }
  for (const [key, ids] of createdBy)
    if (ids.size > 1) found.push(`Task and day [${key}] have several segments: ${[...ids].join(', ')}`)

  for (const dataSource of dataSources.appended) {
    const rows = rest.rows[dataSource] ?? []
    found.push(...wrongRows(rows, expected).map((what) => `In [${dataSource}] ${what}`))
    const mine = ofKind(story, 'ingest').filter(({ work }) => work.dataSource === dataSource)
    const present = new Set(rows.map(({ task }) => task))
    for (const { work } of mine) {
      const hasSucceeded = tasks.get(work.task)?.state === 'SUCCESS'
      if (hasSucceeded !== present.has(work.task))
        found.push(
          `Task [${work.task}] ${hasSucceeded ? 'succeeded, but its rows are missing' : 'did not succeed, but it has rows'}`,
        )
    }
  }
  const replaced = rest.rows[dataSources.replaced] ?? []
  for (const day of days) {
    const there = replaced.filter((row) => row.day === day)
    if (there.length !== 1) {
      found.push(`Day [${day}] of [${dataSources.replaced}] has rows of ${there.length} tasks, expected one`)
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
    if (later)
      found.push(`Day [${day}] has rows of [${row.task}], which were replaced by [${later.work.task}]`)
  }
  return found
}

/** Rows of tasks that are incomplete or duplicated. */
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
        found.push(
          `task [${task}] has ${there.get(day) ?? 0} rows on [${day}], expected ${wanted.get(day) ?? 0}`,
        )
  }
  return found
}

/** An answer may lack rows that no server has loaded yet, but never rows that an earlier answer had. */
export function completeAnswers(story: Story): string[] {
  const expected = rowsOfTasks(story)
  const queries = ofKind(story, 'query').filter(
    ({ outcome, work }) => outcome === 'done' && work.dataSource !== dataSources.replaced,
  )
  const key = ({ task, day }: CountedRows) => `[${task}] on [${day}]`
  return queries.flatMap(({ work, response, at, step }) => {
    const rows = response as readonly CountedRows[]
    const there = new Set(rows.map(key))
    const wrong = rows
      .filter((row) => row.rows !== expected.get(row.task)?.get(row.day))
      .map((row) => `The answer to [${step.id}] has ${row.rows} rows of ${key(row)}`)
    const first = days.map((day) => key({ task: firstTask, day, rows: firstRowsPerDay }))
    const seenBefore = queries
      .filter((other) => other.work.dataSource === work.dataSource && other.answeredAt < at)
      .flatMap((other) => (other.response as readonly CountedRows[]).map(key))
    const missing = [...first, ...seenBefore].filter((row) => !there.has(row))
    return [...wrong, ...missing.map((row) => `The answer to [${step.id}] has no rows of ${row}`)]
  })
}
