import path from 'node:path'
import { type HomeLayout, logFile, writeWhole } from '../home/index.ts'
import type { ProcessSpec } from '../supervisor/index.ts'
import type { RedisProgram } from './find-redis.ts'

/** The configuration of the server: reachable from this machine only, with a password, nothing kept on disk. */
export function redisConfiguration(home: HomeLayout, port: number, password: string): string {
  return `${[
    'bind 127.0.0.1',
    `port ${port}`,
    'protected-mode yes',
    `requirepass ${password}`,
    `dir ${JSON.stringify(home.redis)}`,
    'daemonize no',
    // The queues hold work, never truth: what a lost queue held is queued again.
    'save ""',
    'appendonly no',
    // BullMQ must not lose a key of a job to a full memory.
    'maxmemory-policy noeviction',
  ].join('\n')}\n`
}

/** How the Redis server of a home is run; writes its configuration, which holds the password, for the owner only. */
export function redisServer(
  home: HomeLayout,
  program: RedisProgram,
  port: number,
  password: string,
): ProcessSpec {
  const configuration = path.join(home.redis, 'redis.conf')
  writeWhole(configuration, redisConfiguration(home, port, password), 0o600)
  return {
    instance: 'redis',
    // The server sets its own title, which begins with this name whichever link it was started by.
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
