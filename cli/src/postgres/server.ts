import path from 'node:path'
import { type HomeLayout, logFile } from '../home/index.ts'
import type { ProcessSpec } from '../supervisor/index.ts'
import type { RunAs } from './run-as.ts'

// For commands, added workers, and the services that use more than others: a coordinator or overlord uses up to twelve.
const baseConnections = 200

// A historical or router uses up to four.
const connectionsPerService = 5

/** How to run the Postgres server of a home on a port of 127.0.0.1, for a number of services. */
export function postgresServer(
  home: HomeLayout,
  runAs: RunAs,
  { port, services }: { readonly port: number; readonly services: number },
): ProcessSpec {
  const settings = {
    port,
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    max_connections: baseConnections + connectionsPerService * services,
    shared_buffers: '32MB',
    // A small write-ahead log and few helper processes save memory on a single machine.
    max_wal_size: '256MB',
    io_method: 'sync',
    max_logical_replication_workers: 0,
    jit: 'off',
    log_timezone: 'UTC',
    timezone: 'UTC',
  }
  const options = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const [file, ...before] = [...runAs.prefix, path.join(runAs.binaries, 'bin/postgres')]
  return {
    instance: 'postgres',
    program: 'postgres',
    file: file!,
    args: [...before, '-D', home.postgres, ...options],
    env: { PATH: process.env.PATH, LC_ALL: 'C', TZ: 'UTC' },
    cwd: '/',
    ...(runAs.id === undefined ? {} : { uid: runAs.id, gid: runAs.id }),
    logFile: logFile(home, 'postgres'),
    // SIGINT closes connections and stops; SIGTERM would wait for all clients to disconnect.
    stopSignal: 'SIGINT',
  }
}
