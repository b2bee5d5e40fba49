import { closeSync, openSync, readdirSync, readSync, statSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { notFound } from '@svc/domain/failure'
import { parseLogEntry } from '@svc/domain/log-entries'
import { ascending } from '@svc/domain/order'
import { lastLines } from './log-tail.ts'

/** Which logs to show and how. */
export interface LogsRequest {
  readonly folder: string
  /** A role or an instance; undefined for all. */
  readonly role: string | undefined
  /** Number of lines per log. */
  readonly lines: number
  readonly follow: boolean
  /** Whether to print lines unchanged instead of formatted. */
  readonly asLogged: boolean
  readonly write: (text: string) => void
  /** Whether the output is still open; following ends when it is closed. */
  readonly isRead: () => boolean
}

const pollMs = 200
const chunkBytes = 256 * 1024

/** Shows the last lines of each log, oldest first; with `follow`, then new lines. */
export async function showLogs(request: LogsRequest): Promise<void> {
  const instances = choose(request)
  const sizes = new Map(instances.map((instance) => [instance, sizeOf(fileOf(request, instance))]))
  const last = instances.flatMap((instance) =>
    lastLines(fileOf(request, instance))
      .slice(-request.lines || Number.POSITIVE_INFINITY)
      .map((line) => ({ instance, line })),
  )
  // A line without a time, such as a stack frame, stays after the line before it.
  let time = ''
  const timed = last.map(({ instance, line }, index) => {
    const isFirst = index === 0 || last[index - 1]!.instance !== instance
    time = timeOf(line) ?? (isFirst ? '' : time)
    return { instance, line, time }
  })
  for (const { instance, line } of timed.sort((a, b) => ascending(a.time, b.time))) {
    show(request, instance, line, instances.length > 1)
  }
  while (request.follow && request.isRead()) {
    await delay(pollMs)
    followOnce(request, sizes)
  }
}

/** Shows new lines since the last call. A log that is shorter than before was rotated. */
function followOnce(request: LogsRequest, sizes: Map<string, number>): void {
  for (const instance of choose(request)) {
    const file = fileOf(request, instance)
    const size = sizeOf(file)
    const known = sizes.get(instance) ?? 0
    const from = size < known ? 0 : known
    if (size === from) continue
    const { text, end } = readLines(file, from)
    sizes.set(instance, end)
    for (const line of text.split('\n').slice(0, -1))
      show(request, instance, line, request.role === undefined)
  }
}

/** Complete lines after a byte, and the byte where they end. */
function readLines(file: string, from: number): { text: string; end: number } {
  const handle = openSync(file, 'r')
  try {
    const buffer = Buffer.alloc(chunkBytes)
    const length = readSync(handle, buffer, 0, chunkBytes, from)
    const lastBreak = buffer.subarray(0, length).lastIndexOf(10)
    // A line that is longer than the buffer is shown in pieces.
    const complete = lastBreak < 0 && length === chunkBytes ? length : lastBreak + 1
    return { text: buffer.toString('utf8', 0, complete), end: from + complete }
  } finally {
    closeSync(handle)
  }
}

function choose({ folder, role }: LogsRequest): string[] {
  const instances = readdirSync(folder)
    .filter((name) => name.endsWith('.log'))
    .map((name) => name.slice(0, -'.log'.length))
    .sort()
  const chosen = instances.filter(
    (name) => role === undefined || name === role || name.startsWith(`${role}-`),
  )
  if (chosen.length > 0) return chosen
  if (role === undefined) throw notFound(`There are no logs in [${folder}]`)
  throw notFound(`There is no log for [${role}]: expected one of [${instances.join('], [')}]`)
}

function show({ asLogged, write }: LogsRequest, instance: string, line: string, isNamed: boolean): void {
  const prefix = isNamed && !asLogged ? `${instance}: ` : ''
  write(`${asLogged ? line : readableLine(line, prefix)}\n`)
}

/** A log line of a service or task in readable form; any other line unchanged. `prefix` names the instance. */
export function readableLine(line: string, prefix = ''): string {
  const entry = parseLogEntry(line)
  if (!entry) return `${prefix}${line}`
  const { timestamp, level, message, details } = entry
  const rest = Object.keys(details).length > 0 ? ` ${JSON.stringify(details)}` : ''
  return `${timestamp} ${level.toUpperCase().padEnd(5)} ${prefix}${message}${rest}`
}

/** When a line was logged, in a sortable form: services write ISO 8601 times, Postgres a similar format. */
function timeOf(line: string): string | undefined {
  const found = parseLogEntry(line)?.timestamp ?? /^(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3})/.exec(line)?.[1]
  return found?.replace(' ', 'T')
}

function fileOf({ folder }: LogsRequest, instance: string): string {
  return path.join(folder, `${instance}.log`)
}

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0
}
