import type { SegmentPayload } from '@svc/domain/segment'
import type { Interval } from '@svc/domain/time'
import type { DeepStorage } from '../deep-storage/index.ts'
import {
  type Database,
  eraseUnused,
  loadStoredSegments,
  lockDatasource,
  renewClaim,
} from '../postgres/index.ts'
import { retry } from '../retry/index.ts'
import { NotTheAttempt } from './published-rows.ts'

/** Which segments a kill task deletes: unused segments entirely within an interval. */
export interface KilledSegments {
  readonly dataSource: string
  readonly interval: Interval
  readonly versions: readonly string[] | undefined
  readonly limit: number | undefined
  /** Only segments that became unused at or before this time, in epoch milliseconds. */
  readonly unusedUntil: number | undefined
}

/** Progress of a kill task: the files still to remove, whose segments are already deleted from the metadata store. */
export interface KillProgress {
  readonly erasedSegments: number
  readonly filesToRemove: readonly SegmentPayload['loadSpec'][]
}

const batchSize = 500
const removedAtOnce = 8
const retryDelayMs = 5000

/** Reads the progress of an earlier attempt, if there was one. */
export function readKillProgress(progress: unknown): KillProgress {
  const { erasedSegments = 0, filesToRemove = [] } = (progress ?? {}) as Partial<KillProgress>
  return { erasedSegments, filesToRemove }
}

/**
 * Deletes unused segments: first their rows, recording their files in the same transaction, then the files. After a
 * crash in between, the next attempt removes the recorded files. Returns the number of segments, or undefined if the
 * attempt was superseded.
 */
export async function killSegments(
  database: Database,
  deepStorage: DeepStorage,
  { taskId, attempt, claimMs }: { taskId: string; attempt: number; claimMs: number },
  spec: KilledSegments,
  earlier: KillProgress,
  signal: AbortSignal,
): Promise<number | undefined> {
  let { erasedSegments, filesToRemove } = earlier
  for (;;) {
    await removeFiles(deepStorage, filesToRemove, signal)
    if (signal.aborted) return undefined
    const left = spec.limit === undefined ? batchSize : Math.min(batchSize, spec.limit - erasedSegments)
    const next = await database
      .transaction(async (transaction): Promise<KillProgress> => {
        await lockDatasource(transaction, spec.dataSource)
        const selected =
          left <= 0
            ? []
            : await loadStoredSegments(transaction, {
                dataSource: spec.dataSource,
                used: false,
                within: spec.interval,
                versions: spec.versions,
                unchangedSince: spec.unusedUntil,
                limit: left,
              })
        const erased = await eraseUnused(
          transaction,
          selected.map(({ id }) => id),
          taskId,
        )
        const progress = {
          erasedSegments: erasedSegments + erased.length,
          filesToRemove: erased.map(({ loadSpec }) => loadSpec),
        }
        // Rows must not be deleted unless their files are recorded.
        if (!(await renewClaim(transaction, taskId, attempt, claimMs, progress))) throw new NotTheAttempt()
        return progress
      })
      .catch((error: unknown) => {
        if (error instanceof NotTheAttempt) return undefined
        throw error
      })
    if (next === undefined) return undefined
    if (next.filesToRemove.length === 0) return next.erasedSegments
    erasedSegments = next.erasedSegments
    filesToRemove = next.filesToRemove
  }
}

/**
 * Removes files of segments that no longer exist. While deep storage is unavailable, waits for it: a task that failed now
 * would leave files that nothing references. Stops when the signal is aborted.
 */
async function removeFiles(
  deepStorage: DeepStorage,
  files: KillProgress['filesToRemove'],
  signal: AbortSignal,
): Promise<void> {
  const queue = files.values()
  const worker = async (): Promise<void> => {
    for (const loadSpec of queue) {
      if (signal.aborted) return
      await retry(() => deepStorage.remove(loadSpec), { delayMs: retryDelayMs, signal }).catch((error) => {
        if (!signal.aborted) throw error
      })
    }
  }
  await Promise.all(Array.from({ length: removedAtOnce }, worker))
}
