import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { conflict } from '@svc/domain/failure'
import { identify, isRunning, type ProcessIdentity } from '../processes/index.ts'
import { type HomeLayout, homeArgument } from './layout.ts'
import { storageFailure } from './storage-failure.ts'

/**
 * Locks the home for this process, so that only one cluster can run in it. Returns a function that releases the lock.
 * Throws a Failure that names the holder if it is running; takes over the lock of a process that died.
 */
export function lockHome(home: HomeLayout): () => void {
  const mine = identify(process.pid, 'node')
  const claim = `${home.lockFile}.${process.pid}`
  try {
    writeFileSync(claim, JSON.stringify(mine), { mode: 0o600 })
    // Creating a link fails if the name exists, so only one of two processes gets the lock.
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

/** The process that has locked this home; undefined if it is not running. */
export function lockHolder(home: HomeLayout): ProcessIdentity | undefined {
  const holder = readHolder(home.lockFile)
  return holder && isRunning(holder) ? holder : undefined
}

function heldMessage(home: HomeLayout, holder: ProcessIdentity): string {
  return `A cluster is already running in [${home.root}] (process ${holder.pid}). Stop it with ./svc down${homeArgument(home.root)}, or select another home with --home.`
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

/** Removes the lock of a dead process. If another process has already replaced that lock, restores the new one. */
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
    // Anything else is not a lock.
    return typeof holder?.pid === 'number' && typeof holder.program === 'string'
      ? (holder as ProcessIdentity)
      : undefined
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT' || error instanceof SyntaxError) return undefined
    throw error
  }
}
