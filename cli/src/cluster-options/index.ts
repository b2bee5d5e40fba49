/** The options of a cluster, as a user writes them. In this folder, because `./svc up` loads them before it starts a supervisor. */
export * from './options.ts'
