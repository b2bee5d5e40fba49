import { spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { unavailable } from '@svc/domain/failure'
import { clusterStatus, endCluster, pickPortOffset } from '../cluster/index.ts'
import { homeLayout, repositoryRoot } from '../home/index.ts'
import { describeMachine, medianOf } from './figures.ts'

/** Figures of several rounds. */
interface Figures {
  readonly min: number
  readonly median: number
  readonly max: number
}

/** Results of the start benchmark. */
export interface StartBenchmark {
  readonly machine: string
  readonly rounds: number
  readonly profile: string
  /** Seconds from the command until ready, with a new home and with a used one. */
  readonly firstStartSeconds: Figures
  readonly secondStartSeconds: Figures
  /** Proportional set size of all processes of the cluster, including supervisor and stores, in MiB. */
  readonly idleMemoryMiB: Figures
  /** The same by process, in the last round. */
  readonly memoryByProcessMiB: Readonly<Record<string, number>>
}

// By then the garbage of the startup is collected, and the cluster is idle.
const idleBeforeMemoryMs = 5000

/** Starts and stops clusters in temporary homes, and measures them. Calls `onRound` after each round. */
export async function benchStart(
  rounds: number,
  profile: string,
  onRound: (text: string) => void,
): Promise<StartBenchmark> {
  const first: number[] = []
  const second: number[] = []
  const memory: number[] = []
  let byProcess: Record<string, number> = {}
  for (let round = 1; round <= rounds; round++) {
    const folder = mkdtempSync(path.join(tmpdir(), 'svc-bench-'))
    const home = path.join(folder, 'home')
    const offset = String(await pickPortOffset())
    const up = ['up', '--detach', '--home', home, '--profile', profile, '--port-offset', offset]
    try {
      first.push(await secondsOf(up))
      await endCluster(homeLayout(home))
      second.push(await secondsOf(up))
      await new Promise((resolve) => setTimeout(resolve, idleBeforeMemoryMs))
      byProcess = await memoryOf(home)
      memory.push(Object.values(byProcess).reduce((sum, size) => sum + size, 0))
      onRound(
        `round ${round}: first start ${first.at(-1)?.toFixed(2)} s, second ${second.at(-1)?.toFixed(2)} s, memory ${memory.at(-1)?.toFixed(0)} MiB`,
      )
    } finally {
      await endCluster(homeLayout(home))
      rmSync(folder, { recursive: true, force: true })
    }
  }
  return {
    machine: describeMachine(),
    rounds,
    profile,
    firstStartSeconds: figuresOf(first),
    secondStartSeconds: figuresOf(second),
    idleMemoryMiB: figuresOf(memory),
    memoryByProcessMiB: byProcess,
  }
}

function secondsOf(args: readonly string[]): Promise<number> {
  const startedAt = performance.now()
  const child = spawn(path.join(repositoryRoot, 'svc'), args, { stdio: ['ignore', 'ignore', 'inherit'] })
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (status) => {
      if (status === 0) resolve((performance.now() - startedAt) / 1000)
      else reject(unavailable(`Failed to start the benchmark cluster: exit status [${status}]`))
    })
  })
}

async function memoryOf(home: string): Promise<Record<string, number>> {
  const { processes, supervisorPid } = await clusterStatus(homeLayout(home))
  const roots = [
    ...processes.map(({ instance, pid }) => ({ name: instance, pid })),
    { name: 'supervisor', pid: supervisorPid },
  ]
  const children = childrenByParent()
  return Object.fromEntries(
    roots.flatMap(({ name, pid }) =>
      pid === null
        ? []
        : [
            [
              name,
              [
                pid,
                ...(children.get(pid) ?? []).filter(
                  (child) => name === 'postgres' || !roots.some((root) => root.pid === child),
                ),
              ].reduce((sum, one) => sum + memoryMiB(one), 0),
            ],
          ],
    ),
  )
}

/** Proportional set size: shared pages count proportionally, so that sums are correct. */
function memoryMiB(pid: number): number {
  const text = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8')
  return Number(/^Pss:\s+(\d+) kB/m.exec(text)?.[1] ?? 0) / 1024
}

function childrenByParent(): Map<number, number[]> {
  const children = new Map<number, number[]>()
  for (const entry of readdirSync('/proc')) {
    if (!/^\d+$/.test(entry)) continue
    try {
      const parent = Number(readFileSync(`/proc/${entry}/stat`, 'latin1').split(') ').at(-1)?.split(' ')[1])
      children.set(parent, [...(children.get(parent) ?? []), Number(entry)])
    } catch {
      // The process has exited since the folder was listed.
    }
  }
  return children
}

function figuresOf(values: readonly number[]): Figures {
  const sorted = [...values].sort((a, b) => a - b)
  return {
    min: sorted[0] as number,
    median: medianOf(values),
    max: sorted.at(-1) as number,
  }
}
