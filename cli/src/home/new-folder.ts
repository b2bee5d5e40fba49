import { createHash } from 'node:crypto'
import { constants, existsSync, lstatSync, readdirSync, rmSync } from 'node:fs'
import { mkdir, rename } from 'node:fs/promises'
import path from 'node:path'
import { conflict, type Failure } from '@svc/domain/failure'
import { identify, isRunning, type ProcessIdentity } from '../processes/index.ts'

/** What is done about a folder that a killed command has left behind, before it is removed. */
export type EndLeftover = (leftover: string) => Promise<unknown>

/**
 * Makes a folder whole or not at all: it is filled beside its place and takes it at the end. Returns what `fill`
 * returns. Throws conflict where something of that name is there already; then, and where `fill` fails, nothing is
 * left of what was made, folders above it included. What earlier calls for this place have left behind that were killed
 * is given to `endLeftover`, removed and told.
 */
export async function makeNewFolder<Result>(
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
    leftover = (await mkdir(growing, { recursive: true })) ?? growing
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

const existsAlready = (folder: string): Failure =>
  conflict(`[${folder}] exists already: name a new folder, or remove it first`)

/** Whether nobody else can have made or changed a folder: what its files say of processes is believed. */
function isOwn(folder: string): boolean {
  const { uid, mode } = lstatSync(folder)
  const isFolder = (mode & constants.S_IFMT) === constants.S_IFDIR
  return isFolder && uid === process.getuid?.() && (mode & 0o022) === 0
}

/** Names the process that fills the folder for good, so that whoever finds it knows whether that one still runs. */
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
    process.stderr.write(`svc: removed [${leftover}], which a command that was killed has left behind\n`)
  }
}
