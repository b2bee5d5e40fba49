/** Operating system processes, including those of earlier runs: identifies and ends them. */

export * from './end-process.ts'
export * from './identity.ts'
