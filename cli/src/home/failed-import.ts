import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { conflict, describeError } from '@svc/domain/failure'
import { type HomeLayout, homeArgument } from './layout.ts'

/**
 * The file that records a failed import. It is next to the home, because a failed import creates no home; or, if its
 * parent folder does not exist either, in the closest one that does.
 */
function fileOf({ root }: HomeLayout): string {
  let folder = path.dirname(root)
  while (!existsSync(folder) && path.dirname(folder) !== folder) folder = path.dirname(folder)
  return path.join(folder, `.${path.relative(folder, root).replaceAll(path.sep, '-')}.import-failed`)
}

/**
 * Runs an import into a home. If it fails and leaves no home behind, records why, so that no empty cluster is started
 * instead. A successful import deletes the record. The record is there from the beginning, because this process may be killed.
 */
export async function recordingFailure<Result>(
  home: HomeLayout,
  runImport: () => Promise<Result>,
): Promise<Result> {
  if (!existsSync(home.root))
    writeRecord(home, 'It did not finish. Its process was killed, or is still running.')
  try {
    const result = await runImport()
    forgetFailedImport(home)
    return result
  } catch (error) {
    if (!existsSync(home.root)) writeRecord(home, describeError(error))
    throw error
  }
}

function writeRecord(home: HomeLayout, reason: string): void {
  try {
    writeFileSync(fileOf(home), `${reason}\n`, { mode: 0o600 })
  } catch {
    // The reason of the failed import matters more than this one.
  }
}

/** Removes the record of a failed import. Returns whether there was one. */
export function forgetFailedImport(home: HomeLayout): boolean {
  const file = fileOf(home)
  const isRecorded = existsSync(file)
  rmSync(file, { force: true })
  return isRecorded
}

/** Throws conflict with the reason if the last import into a home failed. */
export function assertNoFailedImport(home: HomeLayout): void {
  const file = fileOf(home)
  if (!existsSync(file)) return
  const option = homeArgument(home.root)
  throw conflict(
    `There is no cluster in [${home.root}], because the last import into it failed. Import again, or create an empty cluster with ./svc reset${option} and ./svc up${option}. The reason:\n${readFileSync(file, 'utf8').trimEnd()}`,
  )
}
