import path from 'node:path'
import { payloadOf, type Segment, segmentId } from '@svc/domain/segment'
import { readInterval } from '@svc/domain/time'
import { dataSources, days, firstRowsPerDay, firstTask, intervalOf } from '../../faults/schedule.ts'
import { encodeRows } from '../stand-ins/segment-rows.ts'
import { checksumOf } from './checksum.ts'
import type { SimulatedCluster } from './cluster.ts'
import { deepStorageFolder } from './layout.ts'

const version = '2026-02-01T00:00:00.000Z'
const createdAt = Date.parse(version)

/** Stores the first rows of all datasources, and the default rules, before any server starts. */
export function createFirstData({ machines, store: { tables } }: SimulatedCluster): void {
  const disk = machines.get('deep-storage')!.disk
  const createFolders = (folder: string): void => {
    if (folder === '/' || disk.find(folder) !== undefined) return
    createFolders(path.dirname(folder))
    disk.createFolder(folder)
  }
  createFolders(deepStorageFolder)
  for (const dataSource of Object.values(dataSources).flat()) {
    for (const day of days) {
      const content = encodeRows([{ task: firstTask, day, rows: firstRowsPerDay }])
      const file = `${dataSource}/${day}/${firstTask}/0.parquet`
      createFolders(path.dirname(path.join(deepStorageFolder, file)))
      const stored = disk.createFile(path.join(deepStorageFolder, file), createdAt)
      disk.write(stored, content, createdAt, file)
      disk.syncFile(stored)
      const key = {
        dataSource,
        interval: readInterval(intervalOf(day), 'interval'),
        version,
        partitionNum: 0,
      }
      const sizes = { partitions: 0, sizeBytes: content.length, totalRows: firstRowsPerDay }
      const segment: Segment = { ...key, id: segmentId(key), ...sizes }
      const loadSpec = { type: 'local', path: file, checksum: checksumOf(content) } as const
      tables.segments.rows.set(segment.id, {
        ...segment,
        used: true,
        payload: payloadOf(segment, { loadSpec, dimensions: 'task,n', metrics: '' }),
        compactionState: null,
        schemaId: null,
        createdAt,
        usedChangedAt: createdAt,
        taskId: firstTask,
        cause: null,
        changedIn: 0,
      })
    }
  }
  disk.syncNames()
  const rules = [{ type: 'loadForever', tieredReplicants: { hot: 0, _default_tier: 2 } }]
  tables.rules.rows.set('_default', { rules: JSON.stringify(rules), auditId: null })
  const compaction = JSON.stringify({ compactionTaskSlotRatio: 0.5, maxCompactionTaskSlots: 2 })
  tables.configs.rows.set('compaction.cluster', { value: compaction, revision: 1 })
}
