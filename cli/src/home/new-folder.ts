import { existsSync } from 'node:fs'
import { mkdir, rename, rm } from 'node:fs/promises'
import { conflict } from '@svc/domain/failure'

/**
 * Makes a folder whole or not at all: it is filled beside its place and takes it at the end. Returns what `fill`
 * returns. Throws conflict where something of that name is there already.
 */
export async function makeNewFolder<Result>(
  folder: string,
  fill: (growing: string) => Promise<Result>,
): Promise<Result> {
  if (existsSync(folder)) throw conflict(`[${folder}] exists already: name a new folder, or remove it first`)
  const growing = `${folder}.partial-${process.pid}`
  try {
    await mkdir(growing, { recursive: true })
    const result = await fill(growing)
    await rename(growing, folder)
    return result
  } finally {
    await rm(growing, { recursive: true, force: true })
  }
}
