import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { bundleOf } from '@svc/cli/bundles'
import type { Role } from '@svc/shared/config'

const timeoutMs = 20_000

/** How to start a service manually. */
export interface ServiceStart {
  readonly role: Role
  /** The folder of the two properties files. */
  readonly folder: string
  /** The lines of the common properties file; the file is missing if undefined. */
  readonly common?: readonly string[] | undefined
  /** The lines of the service's own file. */
  readonly runtime?: readonly string[] | undefined
  readonly environment?: Readonly<Record<string, string>> | undefined
  /** Additional command-line arguments. */
  readonly args?: readonly string[] | undefined
}

/** The result of a service that exited by itself. */
export interface ServiceEnd {
  readonly status: number | null
  readonly stdout: string
  readonly stderr: string
  readonly tookMs: number
}

/** The files that such a service reads. */
export function configurationFiles(folder: string): { common: string; runtime: string } {
  return {
    common: path.join(folder, 'common.runtime.properties'),
    runtime: path.join(folder, 'runtime.properties'),
  }
}

/**
 * Starts a service that should refuse its configuration, and waits until it exits. Kills a service that keeps
 * running.
 */
export async function runService(start: ServiceStart): Promise<ServiceEnd> {
  const files = configurationFiles(start.folder)
  const args: string[] = []
  for (const name of ['common', 'runtime'] as const) {
    const lines = start[name]
    if (lines === undefined) continue
    writeFileSync(files[name], `${lines.join('\n')}\n`)
    args.push(`--${name}`, files[name])
  }
  const began = performance.now()
  const child = spawn(process.execPath, [bundleOf(start.role), ...args, ...(start.args ?? [])], {
    cwd: start.folder,
    env: { PATH: process.env.PATH, NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE, ...start.environment },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: timeoutMs,
    killSignal: 'SIGKILL',
  })
  const output = { stdout: '', stderr: '' }
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output.stdout += text
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    output.stderr += text
  })
  const [status] = (await once(child, 'close')) as [number | null]
  return { status, ...output, tookMs: performance.now() - began }
}
