import { spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { unavailable } from '@svc/domain/failure'
import { clusterStatus, endCluster, pickPortOffset } from '../cluster/index.ts'
import { homeLayout, repositoryRoot } from '../home/index.ts'
import { describeMachine, medianOf } from './figures.ts'
import { prepareReference, type ReferenceInstallation, type ReferenceRole } from './reference-cluster.ts'

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
  /** Seconds until all servers of Druid 37 are healthy, with state that exists, and their memory. */
  readonly reference?: Pick<StartBenchmark, 'secondStartSeconds' | 'idleMemoryMiB' | 'memoryByProcessMiB'>
}

/** What is measured. */
export interface StartBenchmarkOptions {
  readonly rounds: number
  readonly profile: string
  /** The folder of a Druid 37 installation, whose starts alternate with those of svc. */
  readonly reference?: string | undefined
}

// By then, idle servers have collected the garbage of the startup, and returned the memory.
const idleBeforeMemoryMs = 15_000
// Its servers still load classes after they are healthy.
const referenceIdleBeforeMemoryMs = 20_000
const referenceRoles: readonly ReferenceRole[] = ['coordinator', 'historical', 'router', 'indexer']

/** Starts and stops clusters in temporary homes, and measures them. Calls `onRound` after each round. */
export async function benchStart(
  { rounds, profile, reference: referenceHome }: StartBenchmarkOptions,
  onRound: (text: string) => void,
): Promise<StartBenchmark> {
  const reference =
    referenceHome === undefined ? undefined : await openReference(path.resolve(referenceHome), onRound)
  try {
    return await measureRounds({ rounds, profile, measureReference: reference?.measure }, onRound)
  } finally {
    await reference?.end()
  }
}

interface RoundsOptions {
  readonly rounds: number
  readonly profile: string
  readonly measureReference: (() => Promise<ReferenceStart>) | undefined
}

async function measureRounds(
  { rounds, profile, measureReference }: RoundsOptions,
  onRound: (text: string) => void,
): Promise<StartBenchmark> {
  const first: number[] = []
  const second: number[] = []
  const memory: number[] = []
  const reference: ReferenceStart[] = []
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
      memory.push(sumOf(byProcess))
      onRound(
        `round ${round}: first start ${first.at(-1)?.toFixed(2)} s, second ${second.at(-1)?.toFixed(2)} s, memory ${memory.at(-1)?.toFixed(0)} MiB`,
      )
    } finally {
      await endCluster(homeLayout(home))
      rmSync(folder, { recursive: true, force: true })
    }
    if (measureReference) reference.push(await measureReference())
  }
  return {
    machine: describeMachine(),
    rounds,
    profile,
    firstStartSeconds: figuresOf(first),
    secondStartSeconds: figuresOf(second),
    idleMemoryMiB: figuresOf(memory),
    memoryByProcessMiB: byProcess,
    ...(reference.length > 0 && { reference: figuresOfReference(reference) }),
  }
}

interface ReferenceStart {
  readonly seconds: number
  readonly memoryMiB: Readonly<Record<string, number>>
}

/** Prepares Druid 37 and starts it once, so that its state exists. */
async function openReference(
  home: string,
  onRound: (text: string) => void,
): Promise<{ measure(): Promise<ReferenceStart>; end(): Promise<void> }> {
  const folder = mkdtempSync(path.join(tmpdir(), 'svc-bench-reference-'))
  const remove = () => rmSync(folder, { recursive: true, force: true })
  const installation = await prepareReference(home, folder).catch((error) => {
    remove()
    throw error
  })
  const end = async () => {
    await installation.stop()
    remove()
  }
  try {
    await (await installation.start(referenceRoles)).stop()
  } catch (error) {
    await end()
    throw error
  }
  const measure = async () => {
    const start = await startOfReference(installation)
    onRound(`Druid 37: ${start.seconds.toFixed(1)} s, memory ${sumOf(start.memoryMiB).toFixed(0)} MiB`)
    return start
  }
  return { measure, end }
}

async function startOfReference(installation: ReferenceInstallation): Promise<ReferenceStart> {
  const startedAt = performance.now()
  const { pids, stop } = await installation.start(referenceRoles)
  const seconds = (performance.now() - startedAt) / 1000
  await new Promise((resolve) => setTimeout(resolve, referenceIdleBeforeMemoryMs))
  const entries = Object.entries(pids).map(([role, pid]) => [role, memoryMiB(pid)] as const)
  await stop()
  return { seconds, memoryMiB: Object.fromEntries(entries) }
}

function figuresOfReference(starts: readonly ReferenceStart[]): NonNullable<StartBenchmark['reference']> {
  return {
    secondStartSeconds: figuresOf(starts.map(({ seconds }) => seconds)),
    idleMemoryMiB: figuresOf(starts.map(({ memoryMiB }) => sumOf(memoryMiB))),
    memoryByProcessMiB: starts.at(-1)!.memoryMiB,
  }
}

const sumOf = (sizes: Readonly<Record<string, number>>): number =>
  Object.values(sizes).reduce((sum, size) => sum + size, 0)

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
