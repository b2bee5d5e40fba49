import path from 'node:path'
import { cacheFolder } from '../home/index.ts'

/** The environment of the processes of a package, like the one that the ./svc script of a checkout provides. */
export function environment(): NodeJS.ProcessEnv {
  return {
    NODE_COMPILE_CACHE: path.join(cacheFolder, 'compile'),
    // One malloc arena for all threads of a process: more arenas would only cost memory.
    MALLOC_ARENA_MAX: '1',
    // Without these thresholds, malloc keeps up to 64 MiB after the largest request bodies.
    MALLOC_MMAP_THRESHOLD_: '1048576',
    MALLOC_TRIM_THRESHOLD_: '1048576',
    ...process.env,
  }
}
