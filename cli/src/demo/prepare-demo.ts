import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { conflict, Failure } from '@svc/domain/failure'
import {
  checkPortsAreFree,
  parseOptions,
  pickPortOffset,
  planCluster,
  type WrittenOptions,
} from '../cluster/index.ts'
import { homeLayout } from '../home/index.ts'
import { demoHistoricals } from './steps.ts'

/** Where the cluster of the demo has its state. */
export interface DemoHome {
  readonly root: string
  readonly isKept: boolean
  /** Removes it unless it is to be kept. */
  readonly remove: () => void
}

/** A temporary home, or the named folder, which is then kept. Throws a Failure when that holds anything. */
export function prepareHome(home: string | undefined, keep: boolean): DemoHome {
  if (home !== undefined) {
    const root = path.resolve(home)
    // Somebody's data could be called as ours is, and the demo drops it in the end.
    if (isFolder(root) && readdirSync(root).length > 0) {
      throw conflict(`Folder [${root}] is not empty: the demo begins with a home of its own`)
    }
    return { root, isKept: true, remove: () => undefined }
  }
  const root = mkdtempSync(path.join(tmpdir(), 'svc-demo-'))
  const remove = () => rmSync(root, { recursive: true, force: true, maxRetries: 3 })
  return { root, isKept: keep, remove: keep ? () => undefined : remove }
}

function isFolder(folder: string): boolean {
  return statSync(folder, { throwIfNoEntry: false })?.isDirectory() ?? false
}

/** The options of the cluster, at ports that are free now: the usual ones when they are. */
export async function planDemo(root: string, portOffset: string | undefined): Promise<WrittenOptions> {
  const written: WrittenOptions = {
    historicals: demoHistoricals,
    profile: 'secure',
    // Short, so that what a rule does is seen at once.
    set: ['svc.coordinator.period=PT1S'],
  }
  if (portOffset !== undefined) return { ...written, portOffset }
  try {
    await checkPortsAreFree(planCluster(parseOptions(written), { home: homeLayout(root), dataFolder: '' }))
    return written
  } catch (error) {
    if (!(error instanceof Failure) || error.code !== 'conflict') throw error
    return { ...written, portOffset: await pickPortOffset(written) }
  }
}
