import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { conflict } from '@svc/domain/failure'
import type { ProcessIdentity } from '../processes/index.ts'
import type { HomeLayout } from './layout.ts'
import { storageFailure } from './storage-failure.ts'

/** One process of a cluster, as recorded in the run file. */
export interface RunningProcess {
  readonly instance: string
  readonly role: string
  readonly url: string
  /** Missing while the process is not running, for example before a restart. */
  readonly process?: ProcessIdentity
  readonly state: 'running' | 'restarting' | 'stopped'
  /** Number of restarts since the cluster started. */
  readonly restarts: number
}

/** The running processes of a home: updated by their supervisor, read by every other command. */
export interface RunFile {
  readonly profile: 'secure' | 'plain'
  /** Epoch milliseconds. */
  readonly startedAt: number
  readonly supervisor: ProcessIdentity
  readonly routerUrl: string
  readonly processes: readonly RunningProcess[]
}

/** The home's run file; undefined if there is none. Throws a Failure if it is unreadable. */
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
      `Home [${home.root}] is damaged: run file [${home.runFile}] is unreadable. Make sure that no process of this home is running, then delete the run file.`,
    )
  }
  return content
}

/** Replaces the home's run file atomically. */
export function writeRunFile(home: HomeLayout, content: RunFile): void {
  writeAtomically(home.runFile, `${JSON.stringify(content, null, 2)}\n`, 0o600)
}

/** Deletes the run file, once no process of the home is running. */
export function removeRunFile(home: HomeLayout): void {
  rmSync(home.runFile, { force: true })
}

/** The name of a file while it is written. */
export const stagingName = (file: string): string => `${file}.new`

/** Writes a file atomically. */
export function writeAtomically(file: string, text: string | Uint8Array, mode: number): void {
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
