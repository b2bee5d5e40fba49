import path from 'node:path'

/** Where everything of one cluster stands; all paths are absolute. */
export interface HomeLayout {
  readonly root: string
  /** Marks the folder as a home, so that nothing else is ever taken or deleted for one. */
  readonly marker: string
  readonly conf: string
  readonly logs: string
  readonly run: string
  readonly lockFile: string
  readonly runFile: string
  readonly secrets: string
  readonly pki: string
  readonly postgres: string
  readonly postgresBinaries: string
  readonly redis: string
  readonly deepStorage: string
  readonly cache: string
  readonly query: string
  readonly sqlHistory: string
  readonly input: string
  readonly taskLogs: string
  readonly tasks: string
  /** The virtual servers that were imported into this home, as their property has them; most homes have none. */
  readonly virtualServers: string
}

/** The root of this checkout. */
export const repositoryRoot = path.resolve(import.meta.dirname, '../../..')

/** The home when none is named: beside the ./svc command, wherever that is called from. */
export const defaultHome = path.join(repositoryRoot, '.svc')

/** What to add to a suggested command so that it is about this home. */
export function homeArgument(root: string): string {
  if (root === defaultHome) return ''
  // The command is there to be copied into a shell.
  return ` --home ${/^[\w@%+=:,./-]+$/.test(root) ? root : `'${root.replaceAll("'", "'\\''")}'`}`
}

/** The layout of the home `folder`, relative to the working directory; nothing is looked at or made. */
export function homeLayout(folder: string): HomeLayout {
  const root = path.resolve(folder)
  const run = path.join(root, 'run')
  return {
    root,
    marker: path.join(root, 'svc-home.json'),
    conf: path.join(root, 'conf'),
    logs: path.join(root, 'logs'),
    run,
    lockFile: path.join(run, 'lock'),
    runFile: path.join(run, 'cluster.json'),
    secrets: path.join(root, 'secrets'),
    pki: path.join(root, 'pki'),
    postgres: path.join(root, 'postgres'),
    postgresBinaries: path.join(root, 'postgres-binaries'),
    redis: path.join(root, 'redis'),
    deepStorage: path.join(root, 'deep-storage'),
    cache: path.join(root, 'cache'),
    query: path.join(root, 'query'),
    sqlHistory: path.join(root, 'sql-history'),
    input: path.join(root, 'input'),
    taskLogs: path.join(root, 'task-logs'),
    tasks: path.join(root, 'tasks'),
    virtualServers: path.join(root, 'virtual-servers.json'),
  }
}

/** The log file of one instance, which may also be `postgres`, `redis` or `supervisor`. */
export function logFile(home: HomeLayout, instance: string): string {
  return path.join(home.logs, `${instance}.log`)
}
