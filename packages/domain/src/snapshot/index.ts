/** Snapshots of clusters: the files of `./svc export`, or answers of Druid's API that were saved as files. */
export * from './documents.ts'
export * from './import-author.ts'
export * from './manifest.ts'
export * from './placed-inventory.ts'
export * from './segment-row.ts'
