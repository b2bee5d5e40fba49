import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import path from 'node:path'
import { Failure, invalidInput, notFound } from '@svc/domain/failure'
import { planText } from '@svc/domain/saved-plan'
import { isJsonObject } from '@svc/domain/validation'
import { type Plan, parsePlan } from '../declared-state/index.ts'
import { problemsFailure, readJson } from '../state-files/index.ts'

type Environment = Readonly<Record<string, string | undefined>>

/** The folder with the plans that this user has applied, so that they can be reverted. */
const recordFolder = ({ XDG_STATE_HOME: state }: Environment): string =>
  path.join(state || path.join(homedir(), '.local', 'state'), 'svc', 'plans')

/** Saves a plan that is about to be applied. Returns its file. Throws an error of the file system. */
export function recordPlan(plan: Plan, environment: Environment): string {
  const folder = recordFolder(environment)
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const file = path.join(folder, `${plan.id}.json`)
  writeFileSync(file, planText(plan), { mode: 0o600 })
  return file
}

/** What is unfinished in a cluster if the rules of a plan are being applied, or those of the plan with this ID reverted. */
export const unfinishedWork = (revertedPlan?: string): string =>
  revertedPlan === undefined ? 'apply' : `revert ${revertedPlan}`

const unfinishedFile = (cluster: string, environment: Environment): string =>
  path.join(recordFolder(environment), `${encodeURIComponent(cluster)}.unfinished`)

/**
 * Notes that rules of a cluster are about to change, and that servers may not have loaded everything until `noteFinished`. Throws
 * an error of the file system.
 */
export function noteUnfinished(cluster: string, work: string, environment: Environment): void {
  mkdirSync(recordFolder(environment), { recursive: true, mode: 0o700 })
  writeFileSync(unfinishedFile(cluster, environment), work, { mode: 0o600 })
}

/** Notes that servers have loaded what the rules of a cluster require. */
export const noteFinished = (cluster: string, environment: Environment): void =>
  rmSync(unfinishedFile(cluster, environment), { force: true })

/** Returns what this user has started to apply to a cluster, or to revert, and not finished; otherwise undefined. */
export function unfinishedIn(cluster: string, environment: Environment): string | undefined {
  const file = unfinishedFile(cluster, environment)
  return existsSync(file) ? readFileSync(file, 'utf8') : undefined
}

/** Reads a saved plan. Throws invalidInput, with file, line, and column, if it is not a plan, or was edited. */
export function readPlan(file: string): Plan {
  const { json, position } = readJson(readFileSync(file, 'utf8'), file)
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

/** Returns an applied plan, given by its ID or by its file. Throws notFound if there is none. */
export function findAppliedPlan(idOrFile: string, environment: Environment): Plan {
  if (!/^[0-9a-f]{16}$/.test(idOrFile) && existsSync(idOrFile)) return readPlan(idOrFile)
  const file = path.join(recordFolder(environment), `${path.basename(idOrFile)}.json`)
  if (existsSync(file)) return readPlan(file)
  throw notFound(
    `Unknown plan [${idOrFile}]: expected a plan file, or the ID of a plan that this user has applied on this machine`,
  )
}
