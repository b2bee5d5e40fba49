/** Stands in for ingestion: writes a file per day with the number of rows of each task, without DuckDB. */
import { join } from 'node:path'
import { bucketOf, type Interval } from '@svc/domain/time'
import { segmentPath } from '@svc/shared/deep-storage'
import type { runIndexTask as run } from '@svc/shared/ingestion'
import { openTaskFolder, type WrittenSegment } from '@svc/shared/ingestion'
import { mkdir, rm, writeFile } from './file-system.ts'
import { encodeRows } from './segment-rows.ts'

interface Row {
  readonly t: string
  readonly task: string
}

/** Runs an index task whose input is in its spec. */
export const runIndexTask: typeof run = async (
  spec,
  { workDirectory, deepStorage, pathPrefix, onProgress },
) => {
  const folder = await openTaskFolder(workDirectory)
  try {
    await folder.clear()
    await mkdir(folder.segments, { recursive: true })
    const rows = readRows(spec.inputSource)
    const segments: WrittenSegment[] = []
    for (const [day, ofDay] of Map.groupBy(rows, ({ t }) => t.slice(0, 10))) {
      const interval: Interval = bucketOf(spec.segmentGranularity, Date.parse(day))!
      const file = join(folder.segments, day)
      await writeFile(file, encodeRows([{ task: ofDay[0]!.task, day, rows: ofDay.length }]).toString())
      const path = segmentPath({ dataSource: spec.dataSource, interval, partition: 0, pathPrefix })
      const stored = await deepStorage.push(file, path)
      await rm(file)
      segments.push({
        interval,
        ...stored,
        totalRows: ofDay.length,
        dimensions: ['task', 'n'],
        metrics: [],
        columns,
      })
      const rowsWritten = segments.reduce((sum, { totalRows }) => sum + totalRows, 0)
      onProgress?.({
        phase: 'writing',
        fraction: rowsWritten / rows.length,
        rowsRead: rows.length,
        rowsWritten,
        segmentsWritten: segments.length,
      })
    }
    return { segments, rowsWritten: rows.length, rowsRead: rows.length } as never
  } finally {
    await folder.clear()
  }
}

/** The columns of all simulated segments. */
export const columns = [
  { name: 'task', type: 'string' },
  { name: 'n', type: 'long' },
] as const

function readRows(source: Parameters<typeof run>[0]['inputSource']): Row[] {
  if (source.type !== 'inline')
    throw new Error(`Simulated tasks cannot read input of the type [${source.type}]`)
  return source.data.split('\n').map((line) => JSON.parse(line) as Row)
}
