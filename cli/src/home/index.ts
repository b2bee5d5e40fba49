/** The folder with all state of one cluster: its layout, secrets, lock, and running processes. */
export * from './added-processes.ts'
export * from './layout.ts'
export * from './lock.ts'
export * from './new-folder.ts'
export * from './open-home.ts'
export * from './run-file.ts'
export * from './secrets.ts'
export * from './storage-failure.ts'
