import { existsSync } from 'node:fs'
import path from 'node:path'
import { repositoryRoot } from '@svc/cli/home'
import { unpackDebianPackages } from '../../launcher/debian-packages.mjs'
import { findOnPath } from './find-on-path.ts'

/** A program that a test runs next to the cluster. */
export interface Program {
  readonly file: string
  /** The folder of the unpacked package; empty if the system has the program. */
  readonly base: string
}

/** The name of the program. */
export interface ProgramSource {
  readonly name: string
  /** Its folder in the package, such as `usr/sbin`. */
  readonly folder: string
  readonly package: string
  /** The packages that contain it and its dependencies, in case the system does not have them. */
  readonly alsoNeeded: RegExp
}

/** Finds the program on PATH, in the cache, or in the package archive. Throws if it is in none of them. */
export async function findProgram(source: ProgramSource): Promise<Program> {
  const file = findOnPath([source.name], ['/usr/sbin', '/usr/local/sbin'])
  if (file !== undefined) return { file, base: '' }
  const base = path.join(repositoryRoot, '.cache', source.package)
  const unpacked = path.join(base, source.folder, source.name)
  if (!existsSync(unpacked))
    await unpackDebianPackages({ names: [source.package], alsoNeeded: source.alsoNeeded, folder: base })
  return { file: unpacked, base }
}
