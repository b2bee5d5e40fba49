import { existsSync } from 'node:fs'
import path from 'node:path'
import { repositoryRoot } from '@svc/cli/home'
import { unpackDebianPackages } from '../../launcher/debian-packages.mjs'

/** A program that a test runs beside the cluster. */
export interface Program {
  readonly file: string
  /** The folder of the unpacked package; empty where the system has it. */
  readonly base: string
}

/** What is looked for. */
export interface ProgramSource {
  readonly name: string
  /** Its folder in the package, such as `usr/sbin`. */
  readonly folder: string
  readonly package: string
  /** The packages that come with it, where the system has them not. */
  readonly alsoNeeded: RegExp
}

/** The program from PATH, else from the cache, else from the package archive; missing is a failure. */
export async function findProgram(source: ProgramSource): Promise<Program> {
  const folders = [...(process.env.PATH ?? '').split(path.delimiter), '/usr/sbin', '/usr/local/sbin']
  const file = folders.map((folder) => path.join(folder, source.name)).find(existsSync)
  if (file !== undefined) return { file, base: '' }
  const base = path.join(repositoryRoot, '.cache', source.package)
  const unpacked = path.join(base, source.folder, source.name)
  if (!existsSync(unpacked))
    await unpackDebianPackages({ names: [source.package], alsoNeeded: source.alsoNeeded, folder: base })
  return { file: unpacked, base }
}
