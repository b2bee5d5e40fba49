import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { Failure, invalidInput } from '@svc/domain/failure'
import {
  checkPortsAreFree,
  parseOptions,
  pickPortOffset,
  planCluster,
  type WrittenOptions,
} from '../cluster/index.ts'
import { homeLayout } from '../home/index.ts'
import { demoHistoricals } from './steps.ts'

/** The home of the demo's cluster. */
export interface DemoHome {
  readonly root: string
  readonly isKept: boolean
  /** Deletes it unless it is kept. */
  readonly remove: () => void
}

/** A temporary home, or the given folder, which is kept. Throws a Failure if that folder is not empty. */
export function prepareHome(home: string | undefined, keep: boolean): DemoHome {
  if (home !== undefined) {
    const root = path.resolve(home)
    // The folder could contain data of the same name, which the demo would drop at the end.
    if (isFolder(root) && readdirSync(root).length > 0) {
      throw invalidInput(`Folder [${root}] is not empty: expected a new or empty folder`)
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

/** The options of the cluster: on the default ports if they are free, otherwise on other free ports. */
export async function planDemo(root: string, portOffset: string | undefined): Promise<WrittenOptions> {
  const written: WrittenOptions = {
    historicals: demoHistoricals,
    profile: 'secure',
    // Short, so that rules take effect quickly.
    set: ['svc.coordinator.period=PT0.25S'],
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
