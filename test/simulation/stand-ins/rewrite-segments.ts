/** Stands in for the work of a compaction: merges the files of each interval into one, without DuckDB. */
import { join } from 'node:path'
import { segmentPath } from '@svc/shared/deep-storage'
import { openTaskFolder, type WrittenSegment } from '@svc/shared/ingestion'
import type { rewriteSegments as rewrite } from '../../../packages/shared/src/compaction/rewriting/rewrite-segments.ts'
import { mkdir, readFile, rm, writeFile } from './file-system.ts'
import { columns } from './run-index-task.ts'
import { addRows, decodeRows, encodeRows } from './segment-rows.ts'

export type * from '../../../packages/shared/src/compaction/rewriting/rewrite-segments.ts'

/** Rewrites segments: one new segment per interval, and those that are kept. */
export const rewriteSegments: typeof rewrite = async (
  { config: { dataSource }, sources, buckets },
  { workDirectory, deepStorage, pathPrefix },
) => {
  const folder = await openTaskFolder(workDirectory)
  const segments: WrittenSegment[] = []
  const push = async (
    file: string,
    interval: WrittenSegment['interval'],
    partition: number,
    totalRows: number,
  ) => {
    const path = segmentPath({ dataSource, interval, partition, pathPrefix })
    const stored = await deepStorage.push(file, path)
    await rm(file, { force: true })
    segments.push({ interval, ...stored, totalRows, dimensions: ['task', 'n'], metrics: [], columns })
  }
  try {
    await folder.clear()
    await mkdir(folder.input, { recursive: true })
    const files = new Map<string, string>()
    for (const [index, { id, loadSpec, sizeBytes }] of sources.entries()) {
      const file = join(folder.input, String(index))
      await deepStorage.fetch(loadSpec, sizeBytes, file)
      files.set(id, file)
    }
    for (const { interval, rewritten, kept } of buckets) {
      const lists = await Promise.all(
        rewritten.map(async ({ id }) => decodeRows(await readFile(files.get(id)!))),
      )
      const rows = addRows(lists)
      const file = join(folder.input, `out-${interval.start}`)
      await writeFile(file, encodeRows(rows).toString())
      const total = rows.reduce((sum, one) => sum + one.rows, 0)
      await push(file, interval, 0, total)
      for (const [index, id] of kept.entries()) {
        const source = sources.find((one) => one.id === id)!
        await push(files.get(id)!, interval, index + 1, source.totalRows)
      }
    }
    const rowsWritten = segments.reduce((sum, { totalRows }) => sum + totalRows, 0)
    return { segments, dimensions: [...columns], metrics: [], rowsRead: rowsWritten, rowsWritten }
  } catch (error) {
    for (const { path, checksum } of segments)
      await deepStorage.remove({ type: deepStorage.type, path, checksum }).catch(() => undefined)
    throw error
  } finally {
    await folder.clear()
  }
}
