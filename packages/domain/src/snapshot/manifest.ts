import { invalidInput } from '../failure/index.ts'
import { isJsonObject } from '../validation/index.ts'

/** The list of a snapshot's files, written last. Equal snapshots have equal manifests, so it has no timestamp. */
export const snapshotManifestFile = 'snapshot.json'

/** Size and checksum of a file. */
export interface SnapshotFileEntry {
  readonly sizeBytes: number
  readonly sha256: string
}

/** The files of a snapshot by name. */
export interface SnapshotManifest {
  readonly format: 1
  readonly files: Readonly<Record<string, SnapshotFileEntry>>
}

/** A file as it is now. A missing checksum was not computed, so it is not compared. */
export type FoundSnapshotFile =
  | { readonly sizeBytes: number; readonly sha256?: string }
  | { readonly problem: string }

/** Returns the manifest in a text. Throws invalidInput if it is damaged; `name` says which file it is from. */
export function readSnapshotManifest(text: string, name: string): SnapshotManifest {
  const manifest = parsedOf(text)
  if (isManifest(manifest)) return manifest
  throw invalidInput(`File [${name}] is damaged or was written by an incompatible version of ./svc export`)
}

function parsedOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}

const isManifest = (value: unknown): value is SnapshotManifest =>
  isJsonObject(value) &&
  value.format === 1 &&
  isJsonObject(value.files) &&
  Object.values(value.files).every(
    (entry) =>
      isJsonObject(entry) && Number.isSafeInteger(entry.sizeBytes) && typeof entry.sha256 === 'string',
  )

/** Returns how files differ from the manifest of their snapshot: missing, truncated, changed, or not part of it. */
export function manifestProblems(
  { files }: SnapshotManifest,
  found: ReadonlyMap<string, FoundSnapshotFile>,
): string[] {
  return [...found].flatMap(([name, file]): string[] => {
    const written = Object.hasOwn(files, name) ? files[name] : undefined
    if (written === undefined) return 'problem' in file ? [] : [`[${name}] is not part of the export`]
    if ('problem' in file) return [`[${name}] is unreadable: ${file.problem}`]
    if (file.sizeBytes !== written.sizeBytes)
      return [`[${name}] is [${file.sizeBytes}] bytes long: expected [${written.sizeBytes}]`]
    return file.sha256 === undefined || file.sha256 === written.sha256 ? [] : [`[${name}] was changed`]
  })
}
