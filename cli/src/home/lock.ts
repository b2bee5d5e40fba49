import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { conflict } from '@svc/domain/failure'
import { identify, isRunning, type ProcessIdentity } from '../processes/index.ts'
import type { HomeLayout } from './layout.ts'
import { storageFailure } from './storage-failure.ts'

/**
 * Takes the home for this process, so that two cannot start a cluster in it. Returns what gives it back. Throws a
 * Failure that names the holder when one runs; the lock of a process that died is taken over.
 */
export function lockHome(home: HomeLayout): () => void {
  const mine = identify(process.pid, 'node')
  const claim = `${home.lockFile}.${process.pid}`
  try {
    writeFileSync(claim, JSON.stringify(mine), { mode: 0o600 })
    // Giving a file a second name fails when that name exists: of two processes one gets it.
    while (!tryLink(claim, home.lockFile)) {
      const holder = lockHolder(home)
      if (holder) throw conflict(heldMessage(home, holder))
      removeStale(home, claim)
    }
  } catch (error) {
    throw storageFailure(error, home.root)
  } finally {
    rmSync(claim, { force: true })
  }
  return () => rmSync(home.lockFile, { force: true })
}

/** The process that has this home now; undefined when none runs. */
export function lockHolder(home: HomeLayout): ProcessIdentity | undefined {
  const holder = readHolder(home.lockFile)
  return holder && isRunning(holder) ? holder : undefined
}

function heldMessage(home: HomeLayout, holder: ProcessIdentity): string {
  return `A cluster of home [${home.root}] already runs (process ${holder.pid}): end it with ./svc down, or choose another with --home`
}

function tryLink(claim: string, lock: string): boolean {
  try {
    linkSync(claim, lock)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

/** Takes a dead process's lock away. Another one may do so too, and lock anew: that lock is put back. */
function removeStale(home: HomeLayout, claim: string): void {
  const aside = `${claim}.stale`
  try {
    renameSync(home.lockFile, aside)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return
    throw error
  }
  const holder = readHolder(aside)
  if (holder && isRunning(holder)) tryLink(aside, home.lockFile)
  rmSync(aside, { force: true })
}

function readHolder(file: string): ProcessIdentity | undefined {
  try {
    const holder = JSON.parse(readFileSync(file, 'utf8')) as Partial<ProcessIdentity> | null
    // Whatever else stands there is no lock of ours.
    return typeof holder?.pid === 'number' && typeof holder.program === 'string'
      ? (holder as ProcessIdentity)
      : undefined
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT' || error instanceof SyntaxError) return undefined
    throw error
  }
}
