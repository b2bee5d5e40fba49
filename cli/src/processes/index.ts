/** Processes of the operating system, ours and those left from an earlier run: who they are and how they end. */

export * from './end-process.ts'
export * from './identity.ts'
