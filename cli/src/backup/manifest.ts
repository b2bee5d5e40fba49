import { readFileSync } from 'node:fs'
import path from 'node:path'
import { invalidInput } from '@svc/domain/failure'
import {
  checked,
  nullable,
  optional,
  type Reader,
  type Readers,
  readCount,
  readFields,
  readList,
  readOneOf,
  readText,
  refuse,
} from '@svc/domain/validation'
import type { DumpedTable } from '@svc/shared/postgres'

/** The description of a backup. It is written last, so a folder without it is not a backup. */
export interface Manifest {
  readonly format: 1 | 2
  readonly createdAt: string
  readonly migrations: readonly string[]
  readonly tables: readonly (DumpedTable & { readonly sha256: string })[]
  /** The files of deep storage. */
  readonly files: number
  readonly sizeBytes: number
  /** Null in format 1, which does not list them. */
  readonly homeFiles: readonly HomeFile[] | null
}

/** A file of the home that is in the backup. */
export interface HomeFile {
  readonly path: HomeFilePath
  readonly sizeBytes: number
  /** Null for a secret: the checksum would help to guess it. */
  readonly sha256: string | null
}

export const manifestFile = (folder: string): string => path.join(folder, 'backup.json')
export const tableFile = (folder: string, table: string): string =>
  path.join(folder, 'tables', `${table}.copy.gz`)
export const storageFolder = (folder: string): string => path.join(folder, 'deep-storage')

/** The files of a home of virtual servers, by path in the backup: their names in the layout of the home. */
export const virtualHomeFiles = {
  'virtual-servers.json': 'virtualServers',
  'placement.jsonl': 'placement',
  'import-report.json': 'importReport',
} as const
type VirtualHomePath = keyof typeof virtualHomeFiles
export const virtualHomePaths = Object.keys(virtualHomeFiles) as VirtualHomePath[]
/** The passwords that users and servers of the restored cluster continue to use. */
export const keptSecrets = ['admin-password', 'internal-client-password'] as const
type KeptSecret = (typeof keptSecrets)[number]
export const secretPath = (name: KeptSecret) => `secrets/${name}` as const
/** Path of a file of the home in a backup. */
export type HomeFilePath = VirtualHomePath | ReturnType<typeof secretPath>
export const homeFilePaths: readonly HomeFilePath[] = [...keptSecrets.map(secretPath), ...virtualHomePaths]

const readFormat: Reader<Manifest['format']> = (json, field) => {
  if (json !== 1 && json !== 2) throw refuse(field, json, '1 or 2')
  return json
}
const readTableName = checked(readText, (name) => /^\w+$/.test(name), 'a word')
const object = <Shape extends object>(readers: Readers<Shape>): Reader<Shape> =>
  readFields(readers, { ignoresOthers: true })
const readContent: Reader<Manifest> = checked(
  object({
    format: readFormat,
    createdAt: readText,
    migrations: readList(readText),
    tables: readList(object({ name: readTableName, columns: readList(readText), sha256: readText })),
    files: readCount(0),
    sizeBytes: readCount(0),
    homeFiles: optional(
      readList(
        object({ path: readOneOf(homeFilePaths), sizeBytes: readCount(0), sha256: nullable(readText) }),
      ),
    ),
  }),
  ({ format, homeFiles }) => (format === 1) === (homeFiles === null),
  '[homeFiles] in format 2 only',
)

/** The manifest of a backup. Throws a Failure if the folder does not contain a complete backup. */
export function readManifest(folder: string): Manifest {
  let text: string
  try {
    text = readFileSync(manifestFile(folder), 'utf8')
  } catch {
    throw invalidInput(
      `[${folder}] is not a complete backup: it has no file [backup.json], which ./svc backup writes last`,
    )
  }
  try {
    return readContent(JSON.parse(text), '')
  } catch {
    throw invalidInput(
      `[${manifestFile(folder)}] is damaged or was written by an incompatible version of ./svc backup`,
    )
  }
}
