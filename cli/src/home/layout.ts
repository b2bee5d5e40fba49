import path from 'node:path'
import { shellWord } from '@svc/domain/text'
import { defaultHome } from './installation.ts'

/** The paths of one cluster's state; all are absolute. */
export interface HomeLayout {
  readonly root: string
  /** Marks the folder as a home, so that no other folder is ever used or deleted as one. */
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
  /** The imported virtual servers, as the value of their property; most homes have none. */
  readonly virtualServers: string
  /** Which segments the virtual servers have while no cluster runs. */
  readonly placement: string
  /** What an import read, and how it differs from its source; only in homes that ./svc import created. */
  readonly importReport: string
}

/** The argument that a suggested command needs for this home. */
export function homeArgument(root: string): string {
  if (root === defaultHome) return ''
  // Users copy the command into a shell.
  return ` --home ${shellWord(root)}`
}

/** The layout of the home `folder`, relative to the working directory; does not access the file system. */
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
    placement: path.join(root, 'placement.jsonl'),
    importReport: path.join(root, 'import-report.json'),
  }
}

/** The log file of one instance, or of `postgres`, `redis`, or `supervisor`. */
export function logFile(home: HomeLayout, instance: string): string {
  return path.join(home.logs, `${instance}.log`)
}
