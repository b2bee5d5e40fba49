import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { conflict } from '@svc/domain/failure'
import type { ProcessIdentity } from '../processes/index.ts'
import type { HomeLayout } from './layout.ts'
import { storageFailure } from './storage-failure.ts'

/** One process of a cluster as the run file tells it. */
export interface RunningProcess {
  readonly instance: string
  readonly role: string
  readonly url: string
  /** Missing while the process is not running, such as between two starts. */
  readonly process?: ProcessIdentity
  readonly state: 'running' | 'restarting' | 'stopped'
  /** How often it was started again since the cluster came up. */
  readonly restarts: number
}

/** What runs in a home: kept current by the process that supervises it, read by every other command. */
export interface RunFile {
  readonly profile: 'secure' | 'plain'
  /** Epoch milliseconds. */
  readonly startedAt: number
  readonly supervisor: ProcessIdentity
  readonly routerUrl: string
  readonly processes: readonly RunningProcess[]
}

/** The home's run file; undefined when there is none. Throws a Failure when it cannot be understood. */
export function readRunFile(home: HomeLayout): RunFile | undefined {
  let text: string
  try {
    text = readFileSync(home.runFile, 'utf8')
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined
    throw storageFailure(error, home.root)
  }
  const content = parse(text)
  if (!content) {
    throw conflict(
      `Home [${home.root}] is broken: run file [${home.runFile}] cannot be read; delete that file once no process of this home runs`,
    )
  }
  return content
}

/** Replaces the home's run file at once, so that a reader never sees half of it. */
export function writeRunFile(home: HomeLayout, content: RunFile): void {
  writeWhole(home.runFile, `${JSON.stringify(content, null, 2)}\n`, 0o600)
}

/** Removes the run file: nothing of the home runs any more. */
export function removeRunFile(home: HomeLayout): void {
  rmSync(home.runFile, { force: true })
}

/** The name of a file while it is written. */
export const stagingName = (file: string): string => `${file}.new`

/** Writes a file so that it is there whole or not at all. */
export function writeWhole(file: string, text: string | Uint8Array, mode: number): void {
  const staging = stagingName(file)
  try {
    writeFileSync(staging, text, { mode })
    renameSync(staging, file)
  } catch (error) {
    rmSync(staging, { force: true })
    throw error
  }
}

function parse(text: string): RunFile | undefined {
  try {
    const content: Partial<RunFile> = JSON.parse(text)
    const isComplete =
      isIdentity(content.supervisor) &&
      Array.isArray(content.processes) &&
      content.processes.every(
        (entry) => typeof entry?.instance === 'string' && (!entry.process || isIdentity(entry.process)),
      )
    return isComplete ? (content as RunFile) : undefined
  } catch {
    return undefined
  }
}

function isIdentity(value: ProcessIdentity | undefined): boolean {
  return (
    Number.isInteger(value?.pid) && typeof value?.startTime === 'string' && typeof value.program === 'string'
  )
}
