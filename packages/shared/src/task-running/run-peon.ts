import { fork } from 'node:child_process'
import { type FileHandle, mkdir, open } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { storageFailure } from '../deep-storage/index.ts'
import { lowerPriority } from '../runtime/index.ts'
import type { WorkEnd } from '../tasks/index.ts'
import type { PeonMessage, PeonOrder } from './peon-protocol.ts'

const peonFile = fileURLToPath(new URL('./peon.ts', import.meta.url))

/**
 * Runs a task in its own process. Its output goes to the task's log, and `signal` kills it immediately. Rejects with a
 * Failure (with isDiskFull if the disk is full) if the log cannot be written.
 */
export async function runPeon(
  order: PeonOrder,
  logFile: string,
  onProgress: (progress: unknown) => void,
  signal: AbortSignal,
): Promise<WorkEnd> {
  const log = await openLog(logFile)
  try {
    return await new Promise<WorkEnd>((resolve, reject) => {
      // This server's environment may contain passwords, so the rest is not passed on.
      const child = fork(peonFile, [], {
        stdio: ['ignore', log.fd, log.fd, 'ipc'],
        env: { PATH: process.env.PATH, TZ: 'UTC', ...keptVariables(), ...credentialVariables(order) },
        serialization: 'advanced',
        execArgv: [],
      })
      lowerPriority(child.pid, peonNiceness)
      let end: WorkEnd | undefined
      const kill = (): boolean => child.kill('SIGKILL')
      if (signal.aborted) kill()
      signal.addEventListener('abort', kill, { once: true })
      child.on('message', (message: PeonMessage) => {
        if (message.kind === 'progress') onProgress(message.progress)
        else end = message
      })
      child.on('error', reject)
      child.once('exit', (code, killedBy) => {
        signal.removeEventListener('abort', kill)
        resolve(end ?? { kind: 'died', how: killedBy ?? `exit status ${code}` })
      })
      // The exit event covers a process that is already gone.
      child.send(order, () => undefined)
    })
  } finally {
    await log.close()
  }
}

// A lower priority than the servers have, so that they answer requests even while tasks keep every processor busy.
const peonNiceness = 5

async function openLog(logFile: string): Promise<FileHandle> {
  try {
    await mkdir(path.dirname(logFile), { recursive: true })
    return await open(logFile, 'a')
  } catch (error) {
    throw storageFailure(`Failed to write to log [${logFile}]`, logFile, error)
  }
}

/** Without keys for S3, the SDK of AWS finds credentials with these variables, and in the home folder. */
function credentialVariables({ storage }: PeonOrder): NodeJS.ProcessEnv {
  if (storage.type !== 's3' || storage.connection.accessKey !== undefined) return {}
  const variables = Object.entries(process.env).filter(([name]) => name === 'HOME' || name.startsWith('AWS_'))
  return Object.fromEntries(variables)
}

/** What Node.js needs: its compile cache, and the folders with libraries that are missing in the system. */
function keptVariables(): NodeJS.ProcessEnv {
  const { NODE_COMPILE_CACHE, LD_LIBRARY_PATH } = process.env
  return {
    ...(NODE_COMPILE_CACHE === undefined ? {} : { NODE_COMPILE_CACHE }),
    ...(LD_LIBRARY_PATH === undefined ? {} : { LD_LIBRARY_PATH }),
  }
}
