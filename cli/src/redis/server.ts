import path from 'node:path'
import { type HomeLayout, logFile, writeAtomically } from '../home/index.ts'
import type { ProcessSpec } from '../supervisor/index.ts'
import type { RedisProgram } from './find-redis.ts'

/** The configuration of the server: only local connections, with a password, and no data on disk. */
export function redisConfiguration(home: HomeLayout, port: number, password: string): string {
  return `${[
    'bind 127.0.0.1',
    `port ${port}`,
    'protected-mode yes',
    `requirepass ${password}`,
    `dir ${JSON.stringify(home.redis)}`,
    'daemonize no',
    // Queues are not a source of truth: lost work is queued again.
    'save ""',
    'appendonly no',
    // BullMQ must not lose the keys of a job when memory is full.
    'maxmemory-policy noeviction',
  ].join('\n')}\n`
}

/** How to run the Redis server of a home. Writes its configuration, with the password, readable only by the owner. */
export function redisServer(
  home: HomeLayout,
  program: RedisProgram,
  port: number,
  password: string,
): ProcessSpec {
  const configuration = path.join(home.redis, 'redis.conf')
  writeAtomically(configuration, redisConfiguration(home, port, password), 0o600)
  return {
    instance: 'redis',
    // The server sets its own title, which begins with this name even if it was started through a link.
    program: path.basename(program.file),
    file: program.file,
    args: [configuration],
    env: {
      PATH: process.env.PATH,
      LC_ALL: 'C',
      ...(program.libraries ? { LD_LIBRARY_PATH: program.libraries } : {}),
    },
    cwd: home.redis,
    logFile: logFile(home, 'redis'),
    stopSignal: 'SIGTERM',
  }
}

/** Why a Redis server did not start, according to the lines of its log; undefined if it wrote none. */
export function redisErrorIn(lines: readonly string[]): string | undefined {
  // Such as: 42:M 05 Nov 2026 08:01:55.123 # Failed listening on port 6379 (tcp), aborting.
  const warnings = lines
    .map((line) => /^\d+:\w .*? # (.*)/.exec(line)?.[1])
    .filter((text) => text !== undefined)
  const problems = warnings.filter((text) => !/^WARNING|ready to exit/.test(text))
  // Before it reads its configuration, it writes plain lines, and the last one is the reason.
  return (problems.at(-1) ?? lines.at(-1))?.trim().replace(/\.$/, '')
}
