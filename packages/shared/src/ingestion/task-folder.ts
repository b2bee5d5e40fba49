import { mkdir, realpath, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { unavailable } from '@svc/domain/failure'

/** The folder in which a task works on files with DuckDB; none of the places in it exists at the beginning. */
export interface TaskFolder {
  readonly root: string
  /** For files that were brought in. */
  readonly input: string
  /** For what does not fit into memory. */
  readonly spill: string
  /** For segment files on their way into deep storage. */
  readonly segments: string
  /** A database file for rows. */
  readonly rowsFile: string
  /** Removes all of it, also what a run of the task that was killed has left. */
  clear(): Promise<void>
}

// What a reader of files would take for a pattern.
const patternCharacter = /[*?[]/

/** Makes the folder if it is missing. Throws unavailable where its path has characters that DuckDB would expand. */
export async function openTaskFolder(directory: string): Promise<TaskFolder> {
  await mkdir(directory, { recursive: true })
  const root = await realpath(directory)
  if (patternCharacter.test(root)) {
    throw unavailable(`Task directory[${root}] has one of the characters * ? [ in its path`)
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
