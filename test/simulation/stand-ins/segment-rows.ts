import type { CountedRows } from '../../faults/history.ts'
import { environmentOf, runningProcess } from '../environment.ts'

/** Returns the content of a simulated segment file: how many rows of which task and day it has. */
export const encodeRows = (rows: readonly CountedRows[]): Buffer => Buffer.from(JSON.stringify(rows))

/** Reads a simulated segment file. Readers have checked it before. */
export function decodeRows(content: Buffer): CountedRows[] {
  try {
    return JSON.parse(content.toString()) as CountedRows[]
  } catch {
    const process = runningProcess()
    environmentOf(process).observeDamage(process)
    throw new Error('A damaged file was used')
  }
}

/** Adds up the rows of the same task and day. */
export function addRows(lists: readonly (readonly CountedRows[])[]): CountedRows[] {
  const sums = new Map<string, CountedRows>()
  for (const { task, day, rows } of lists.flat()) {
    const key = `${task}\n${day}`
    sums.set(key, { task, day, rows: rows + (sums.get(key)?.rows ?? 0) })
  }
  return [...sums].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, sum]) => sum)
}
