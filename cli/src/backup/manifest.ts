import { readFileSync } from 'node:fs'
import path from 'node:path'
import { invalidInput } from '@svc/domain/failure'
import type { DumpedTable } from '@svc/shared/postgres'
import { z } from 'zod'

/** What a backup says of itself; it is written last, so a folder without it is no backup. */
export interface Manifest {
  readonly format: 1
  readonly createdAt: string
  readonly migrations: readonly string[]
  readonly tables: readonly (DumpedTable & { readonly sha256: string })[]
  readonly files: number
  readonly sizeBytes: number
}

export const manifestFile = (folder: string): string => path.join(folder, 'backup.json')
export const tableFile = (folder: string, table: string): string =>
  path.join(folder, 'tables', `${table}.copy.gz`)
export const storageFolder = (folder: string): string => path.join(folder, 'deep-storage')
/** Only in the backup of an imported home. */
export const virtualServersFile = (folder: string): string => path.join(folder, 'virtual-servers.json')
export const secretsFolder = (folder: string): string => path.join(folder, 'secrets')

/** The passwords that users and servers of the restored cluster go on using. */
export const keptSecrets = ['admin-password', 'internal-client-password'] as const

const schema = z.object({
  format: z.literal(1),
  createdAt: z.string(),
  migrations: z.array(z.string()),
  tables: z.array(
    z.object({ name: z.string().regex(/^\w+$/), columns: z.array(z.string()), sha256: z.string() }),
  ),
  files: z.number(),
  sizeBytes: z.number(),
})

/** The manifest of a backup. Throws a Failure where the folder holds no whole one. */
export function readManifest(folder: string): Manifest {
  let text: string
  try {
    text = readFileSync(manifestFile(folder), 'utf8')
  } catch {
    throw invalidInput(
      `[${folder}] is no backup: it has no file [backup.json], which ./svc backup writes last`,
    )
  }
  try {
    return schema.parse(JSON.parse(text))
  } catch {
    throw invalidInput(`[${manifestFile(folder)}] is not what ./svc backup writes, or of another version`)
  }
}
