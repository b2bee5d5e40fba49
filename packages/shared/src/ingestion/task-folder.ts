import { mkdir, realpath, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { unavailable } from '@svc/domain/failure'

/** The folder for the files of a task. The paths in it do not exist at the start. */
export interface TaskFolder {
  readonly root: string
  /** For fetched files. */
  readonly input: string
  /** For data that does not fit into memory. */
  readonly spill: string
  /** For segment files before they are pushed to deep storage. */
  readonly segments: string
  /** Database file for rows. */
  readonly rowsFile: string
  /** Removes all files, including those that a killed run of the task left behind. */
  clear(): Promise<void>
}

// DuckDB expands these characters in paths.
const patternCharacter = /[*?[]/

/** Creates the folder if it is missing. Throws unavailable if its path has characters that DuckDB would expand. */
export async function openTaskFolder(directory: string): Promise<TaskFolder> {
  await mkdir(directory, { recursive: true })
  const root = await realpath(directory)
  if (patternCharacter.test(root)) {
    throw unavailable(
      `Invalid task directory [${root}]: the path must not contain any of the characters * ? [`,
    )
  }
  const places = {
    input: join(root, 'input'),
    spill: join(root, 'spill'),
    segments: join(root, 'segments'),
    rowsFile: join(root, 'rows.duckdb'),
  }
  return {
    root,
    ...places,
    clear: async () => {
      for (const path of [...Object.values(places), `${places.rowsFile}.wal`]) {
        await rm(path, { recursive: true, force: true })
      }
    },
  }
}
