import { invalidInput } from '@svc/domain/failure'

/** The first part of the paths of files that are being written. */
export const incomingDirectory = '.incoming'

/** Throws the Failure for a path that is not inside the store. */
export function refusePath(path: string): never {
  throw invalidInput(
    `Invalid value [${path}] for [loadSpec.path]: expected a path inside deep storage such as [wiki/2026/0.parquet]`,
    { field: 'loadSpec.path' },
  )
}

/** Returns the parts of the path of a file. Throws invalidInput if it leads outside of the store. */
export function partsOfPath(path: string): string[] {
  const parts = path.split('/')
  const stays = parts.every((part) => part !== '' && part !== '.' && part !== '..')
  if (!stays || parts[0] === incomingDirectory || /[\0\\]/.test(path)) refusePath(path)
  return parts
}
