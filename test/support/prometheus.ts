import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { createHttpClient, freePort, waitUntil } from '@svc/shared/testing'
import { findProgram, type Program } from './debian-program.ts'

/** One series of an expression, with its current value. */
export interface Sample {
  readonly metric: Readonly<Record<string, string>>
  readonly value: readonly [time: number, value: string]
}

/** One scrape target. */
export interface ScrapedTarget {
  readonly labels: Readonly<Record<string, string>>
  readonly health: string
  readonly lastError: string
}

/** A Prometheus server for a test. */
export interface Prometheus {
  /** Returns the current value of an expression. Throws if the expression is invalid. */
  query(expression: string): Promise<readonly Sample[]>
  targets(): Promise<readonly ScrapedTarget[]>
  stop(): Promise<void>
}

const findIn = (name: string): Promise<Program> =>
  findProgram({ name, folder: 'usr/bin', package: 'prometheus', alsoNeeded: /^$/ })

/** Returns the output of `promtool`. Throws an Error with the output if promtool fails. */
export async function promtool(...args: readonly string[]): Promise<string> {
  const { file } = await findIn('promtool')
  return await new Promise((resolve, reject) => {
    execFile(file, args, (error, stdout, stderr) => {
      if (error) reject(new Error(`${stdout}${stderr}`))
      else resolve(stdout)
    })
  })
}

/** Starts Prometheus with the configuration in a folder, which also stores its data. */
export async function startPrometheus(folder: string): Promise<Prometheus> {
  const { file } = await findIn('prometheus')
  const port = await freePort()
  const args = [
    `--config.file=${path.join(folder, 'prometheus.yml')}`,
    `--storage.tsdb.path=${path.join(folder, 'data')}`,
    `--web.listen-address=127.0.0.1:${port}`,
    '--log.level=warn',
  ]
  const child: ChildProcess = spawn(file, args, { stdio: ['ignore', 'ignore', 'inherit'] })
  const client = createHttpClient(`http://127.0.0.1:${port}`)
  const request = async <Data>(rest: string): Promise<Data> => {
    const body = (await client.send({ path: rest })).json as { status: string; error?: string; data: Data }
    if (body.status !== 'success') throw new Error(body.error)
    return body.data
  }
  const stop = async (): Promise<void> => {
    client.close()
    if (child.exitCode !== null) return
    const ended = once(child, 'exit')
    child.kill('SIGTERM')
    await ended
  }
  try {
    await waitUntil(
      'Prometheus answers',
      async () => {
        if (child.exitCode !== null) throw new Error(`Prometheus exited with status ${child.exitCode}`)
        return (await client.send({ path: '/-/ready' })).status
      },
      (status) => status === 200,
    )
  } catch (error) {
    await stop()
    throw error
  }
  return {
    query: async (expression) =>
      (await request<{ result: Sample[] }>(`/api/v1/query?query=${encodeURIComponent(expression)}`)).result,
    targets: async () =>
      (await request<{ activeTargets: ScrapedTarget[] }>('/api/v1/targets?state=active')).activeTargets,
    stop,
  }
}
