import { existsSync, rmSync } from 'node:fs'
import { mkdir, rename } from 'node:fs/promises'
import path from 'node:path'
import { conflict } from '@svc/domain/failure'

/**
 * Makes a folder whole or not at all: it is filled beside its place and takes it at the end. Returns what `fill`
 * returns. Throws conflict where something of that name is there already; then, and where `fill` fails, nothing is
 * left of what was made, folders above it included.
 */
export async function makeNewFolder<Result>(
  folder: string,
  fill: (growing: string) => Promise<Result>,
): Promise<Result> {
  const place = path.resolve(folder)
  if (existsSync(place)) throw conflict(`[${folder}] exists already: name a new folder, or remove it first`)
  const growing = `${place}.partial-${process.pid}`
  let leftover = growing
  const remove = () => rmSync(leftover, { recursive: true, force: true, maxRetries: 3 })
  // A second Ctrl-C ends this process at once.
  process.once('exit', remove)
  try {
    leftover = (await mkdir(growing, { recursive: true })) ?? growing
    const result = await fill(growing)
    await rename(growing, place)
    leftover = growing
    return result
  } finally {
    remove()
    process.removeListener('exit', remove)
  }
}
