import { createHash } from 'node:crypto'
import { constants, existsSync, lstatSync, readdirSync, rmSync } from 'node:fs'
import { rename } from 'node:fs/promises'
import path from 'node:path'
import { describeError, type Failure, invalidInput } from '@svc/domain/failure'
import { identify, isRunning, type ProcessIdentity } from '../processes/index.ts'
import { createWithParents } from './create-with-parents.ts'

/** Called with a folder that a killed command left behind, before the folder is deleted. */
export type EndLeftover = (leftover: string) => Promise<unknown>

/**
 * Creates a complete folder or none: fills a temporary folder next to it, and renames that at the end. Returns what
 * `fill` returns. Throws invalidInput if the folder already exists or cannot be created. If anything fails, deletes everything that was created,
 * including parent folders. Folders that earlier, killed calls left behind are passed to `endLeftover` and deleted, with
 * a message.
 */
export async function createNewFolder<Result>(
  folder: string,
  fill: (growing: string) => Promise<Result>,
  endLeftover: EndLeftover = async () => undefined,
): Promise<Result> {
  const place = path.resolve(folder)
  await removeLeftovers(place, endLeftover)
  if (existsSync(place)) throw existsAlready(folder)
  const growing = `${place}${suffixOf(identify(process.pid, 'node') as ProcessIdentity)}`
  let leftover = growing
  const remove = () => rmSync(leftover, { recursive: true, force: true, maxRetries: 3 })
  // A second Ctrl-C ends this process at once.
  process.once('exit', remove)
  try {
    leftover = create(growing, folder)
    const result = await fill(growing)
    await rename(growing, place).catch((error: NodeJS.ErrnoException) => {
      throw existsSync(place) ? existsAlready(folder) : error
    })
    leftover = growing
    return result
  } finally {
    remove()
    process.removeListener('exit', remove)
  }
}

/** Creates the temporary folder for `folder`. Returns the first folder that was created: a parent, or the temporary folder. */
function create(growing: string, folder: string): string {
  try {
    return createWithParents(growing) ?? growing
  } catch (error) {
    throw invalidInput(`Failed to create [${folder}]: ${describeError(error)}. Choose another folder.`)
  }
}

const existsAlready = (folder: string): Failure =>
  invalidInput(`[${folder}] already exists. Choose another folder, or delete this one first.`)

/** Whether only this user can have created or changed a folder, so that its files about processes can be trusted. */
function isOwn(folder: string): boolean {
  const { uid, mode } = lstatSync(folder)
  const isFolder = (mode & constants.S_IFMT) === constants.S_IFDIR
  return isFolder && uid === process.getuid?.() && (mode & 0o022) === 0
}

/** Identifies the process that fills the folder, so that others can tell whether it is still running. */
function suffixOf({ pid, startTime }: ProcessIdentity): string {
  return `.partial-${pid}-${createHash('sha256').update(startTime).digest('hex').slice(0, 8)}`
}

async function removeLeftovers(place: string, endLeftover: EndLeftover): Promise<void> {
  const parent = path.dirname(place)
  const names = existsSync(parent) ? readdirSync(parent) : []
  for (const name of names) {
    const suffix = name.startsWith(path.basename(place)) ? name.slice(path.basename(place).length) : ''
    const [, pid] = /^\.partial-(\d+)-[\da-f]{8}$/.exec(suffix) ?? []
    if (pid === undefined) continue
    const holder = identify(Number(pid), 'node')
    if (holder && suffixOf(holder) === suffix && isRunning(holder)) continue
    const leftover = path.join(parent, name)
    if (!isOwn(leftover)) continue
    await endLeftover(leftover)
    rmSync(leftover, { recursive: true, force: true, maxRetries: 3 })
    process.stderr.write(`svc: Removed [${leftover}], which a killed command left behind.\n`)
  }
}
