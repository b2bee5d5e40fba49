import { existsSync, readFileSync, rmSync } from 'node:fs'
import { homedir } from 'node:os'
import path from 'node:path'
import { describeError, Failure, invalidInput, notFound } from '@svc/domain/failure'
import { planText } from '@svc/domain/saved-plan'
import { isJsonObject } from '@svc/domain/validation'
import { type Plan, parsePlan } from '../declared-state/index.ts'
import { createWithParents, writeAtomically } from '../home/index.ts'
import { readRegularFile } from '../regular-files/index.ts'
import { problemsFailure, readJson } from '../state-files/index.ts'

type Environment = Readonly<Record<string, string | undefined>>

/** The folder with the plans that this user has applied, so that they can be reverted. */
const recordFolder = ({ XDG_STATE_HOME: state }: Environment): string =>
  path.join(state || path.join(homedir(), '.local', 'state'), 'svc', 'plans')

/** Saves a plan that is about to be applied. Returns its file. Throws an error of the file system. */
export function recordPlan(plan: Plan, environment: Environment): string {
  const folder = recordFolder(environment)
  createWithParents(folder, 0o700)
  const file = path.join(folder, `${plan.id}.json`)
  // An earlier record of the plan stays whole if the disk is full or this process dies.
  writeAtomically(file, planText(plan), 0o600)
  return file
}

/** What is unfinished in a cluster if the rules of a plan are being applied, or those of the plan with this ID reverted. */
export const unfinishedWork = (revertedPlan?: string): string =>
  revertedPlan === undefined ? 'apply' : `revert ${revertedPlan}`

/** What is noted about a cluster, in one file each: a plan that is not completely applied, and work that servers have not done. */
type NoteName = 'started' | 'unfinished'

const noteFile = (cluster: string, name: NoteName, environment: Environment): string =>
  path.join(recordFolder(environment), `${encodeURIComponent(cluster)}.${name}`)

function writeNote(cluster: string, name: NoteName, text: string, environment: Environment): void {
  createWithParents(recordFolder(environment), 0o700)
  writeAtomically(noteFile(cluster, name, environment), text, 0o600)
}

function readNote(cluster: string, name: NoteName, environment: Environment): string | undefined {
  const file = noteFile(cluster, name, environment)
  return existsSync(file) ? readFileSync(file, 'utf8') : undefined
}

const removeNote = (cluster: string, name: NoteName, environment: Environment): void =>
  rmSync(noteFile(cluster, name, environment), { force: true })

/**
 * Notes that rules of a cluster are about to change, and that servers may not have loaded everything until `noteFinished`. Throws
 * an error of the file system.
 */
export const noteUnfinished = (cluster: string, work: string, environment: Environment): void =>
  writeNote(cluster, 'unfinished', work, environment)

/** Notes that servers have loaded what the rules of a cluster require. */
export const noteFinished = (cluster: string, environment: Environment): void =>
  removeNote(cluster, 'unfinished', environment)

/** Returns what this user has started to apply to a cluster, or to revert, and not finished; otherwise undefined. */
export const unfinishedIn = (cluster: string, environment: Environment): string | undefined =>
  readNote(cluster, 'unfinished', environment)

/** Notes that a recorded plan is being applied to a cluster, until `noteCompleted`. Throws an error of the file system. */
export const noteStarted = (cluster: string, planId: string, environment: Environment): void =>
  writeNote(cluster, 'started', planId, environment)

/** Notes that a plan is completely applied. */
export function noteCompleted(cluster: string, planId: string, environment: Environment): void {
  if (readNote(cluster, 'started', environment) === planId) removeNote(cluster, 'started', environment)
}

/** Returns the plan that this user last started to apply to a cluster and did not complete; undefined if it is unknown. */
export function startedPlan(cluster: string, environment: Environment): Plan | undefined {
  const id = readNote(cluster, 'started', environment)
  try {
    return id === undefined ? undefined : findAppliedPlan(id, environment)
  } catch (error) {
    // Without the plan, the rest is a plan of its own.
    if (error instanceof Failure) return undefined
    throw error
  }
}

/** Reads a saved plan. Throws invalidInput, with file, line, and column, if it is not a plan, or was edited. */
export function readPlan(file: string): Plan {
  const { json, position } = readJson(textOf(file), file)
  try {
    if (!isJsonObject(json)) throw invalidInput('Invalid contents: expected a plan saved by ./svc plan --out')
    return parsePlan(json, file)
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    const { context, message } = error
    throw problemsFailure(
      [{ source: file, position }],
      [{ source: file, field: context.field ?? '', message }],
    )
  }
}

function textOf(file: string): string {
  try {
    return readRegularFile(file).toString('utf8')
  } catch (error) {
    throw invalidInput(`Failed to read the plan [${file}]: ${describeError(error)}`)
  }
}

/** Returns an applied plan, given by its ID or by its file. Throws notFound if there is none. */
export function findAppliedPlan(idOrFile: string, environment: Environment): Plan {
  if (!/^[0-9a-f]{16}$/.test(idOrFile) && existsSync(idOrFile)) return readPlan(idOrFile)
  const file = path.join(recordFolder(environment), `${path.basename(idOrFile)}.json`)
  if (existsSync(file)) return readPlan(file)
  throw notFound(
    `Unknown plan [${idOrFile}]: expected a plan file, or the ID of a plan that this user has applied on this machine`,
  )
}
