/** Clusters that tests move on by hand. */
export * from './simulated-servers.ts'
