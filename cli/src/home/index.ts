/** The folder that holds all state of one cluster: its layout, its secrets, its lock and what runs in it. */
export * from './added-processes.ts'
export * from './layout.ts'
export * from './lock.ts'
export * from './new-folder.ts'
export * from './open-home.ts'
export * from './run-file.ts'
export * from './secrets.ts'
export * from './storage-failure.ts'
