import { spawn } from 'node:child_process'
import path from 'node:path'
import { unavailable } from '@svc/domain/failure'
import { repositoryRoot } from '../home/index.ts'
import { describeMachine, medianOf } from './figures.ts'

/** Measurements of one cluster size; medians of all rounds. */
export interface CoordinatorFigures {
  readonly segments: number
  readonly servers: number
  readonly datasources: number
  /** Replicas that the first run assigned. */
  readonly copies: number
  readonly firstMs: number
  /** The longest time in the first run without serving requests. */
  readonly longestPartMs: number
  readonly steadyMs: number
  readonly fullRunMs: number
  /** A run after a day has passed. */
  readonly nextDayMs: number
  readonly loadStatusMs: number
  /** Resident memory of the process, idle after the runs, and its peak. */
  readonly residentMiB: number
  readonly peakMiB: number
  /** Measurements of Druid 37, and how many times as long they are. */
  readonly reference?: ReferenceFigures
}

interface ReferenceFigures {
  readonly firstMs: number
  readonly steadyMs: number
  readonly heapMiB: number
  readonly firstRatio: number
  readonly steadyRatio: number
}

/** Results of the coordinator benchmark. */
export interface CoordinatorBenchmark {
  readonly machine: string
  readonly rounds: number
  readonly sizes: readonly CoordinatorFigures[]
}

const sizes = [
  { segments: 100_000, servers: 20, datasources: 20 },
  { segments: 1_000_000, servers: 100, datasources: 20 },
]
// Runs of Druid 37 per round: one of the first ones assigns segments, the last ones have nothing to do.
const referenceCycles = 6

type Round = Omit<CoordinatorFigures, 'segments' | 'servers' | 'datasources' | 'reference'>

/**
 * Measures coordinator runs over clusters of two sizes, each round in a new process. With `reference`, the folder of a
 * Druid 37 installation, alternates rounds of both.
 */
export async function benchCoordinator(
  rounds: number,
  reference: string | undefined,
  onRound: (text: string) => void,
): Promise<CoordinatorBenchmark> {
  const found: CoordinatorFigures[] = []
  for (const size of sizes) {
    const own: Round[] = []
    const ofReference: { firstMs: number; steadyMs: number; heapMiB: number }[] = []
    for (let round = 1; round <= rounds; round++) {
      const measured = await measureOwn(size)
      own.push(measured)
      onRound(
        `${size.segments} segments, round ${round}: first ${measured.firstMs.toFixed(0)} ms, steady ${measured.steadyMs.toFixed(1)} ms, all ${measured.fullRunMs.toFixed(0)} ms, ${measured.peakMiB.toFixed(0)} MiB peak memory`,
      )
      if (reference === undefined) continue
      const druid = await measureReference(reference, size)
      ofReference.push(druid)
      onRound(
        `  Druid 37: first ${druid.firstMs.toFixed(0)} ms, steady ${druid.steadyMs.toFixed(0)} ms, heap ${druid.heapMiB.toFixed(0)} MiB`,
      )
    }
    const ofRounds = (name: keyof Round) => medianOf(own.map((round) => round[name]))
    const firstMs = ofRounds('firstMs')
    const steadyMs = ofRounds('steadyMs')
    found.push({
      ...size,
      copies: ofRounds('copies'),
      firstMs,
      longestPartMs: ofRounds('longestPartMs'),
      steadyMs,
      fullRunMs: ofRounds('fullRunMs'),
      nextDayMs: ofRounds('nextDayMs'),
      loadStatusMs: ofRounds('loadStatusMs'),
      residentMiB: ofRounds('residentMiB'),
      peakMiB: ofRounds('peakMiB'),
      ...(ofReference.length === 0 ? {} : { reference: compare(ofReference, firstMs, steadyMs) }),
    })
  }
  return { machine: describeMachine(), rounds, sizes: found }
}

function compare(
  rounds: readonly { firstMs: number; steadyMs: number; heapMiB: number }[],
  firstMs: number,
  steadyMs: number,
): ReferenceFigures {
  const first = medianOf(rounds.map((round) => round.firstMs))
  const steady = medianOf(rounds.map((round) => round.steadyMs))
  return {
    firstMs: first,
    steadyMs: steady,
    heapMiB: medianOf(rounds.map(({ heapMiB }) => heapMiB)),
    firstRatio: first / firstMs,
    steadyRatio: steady / steadyMs,
  }
}

interface Size {
  readonly segments: number
  readonly servers: number
  readonly datasources: number
}

async function measureOwn({ segments, servers, datasources }: Size): Promise<Round> {
  const script = path.join(repositoryRoot, 'cli/src/development/bench-coordinator-run.ts')
  const output = await outputOf(process.execPath, [script, ...[segments, servers, datasources].map(String)])
  return JSON.parse(output) as Round
}

async function measureReference(folder: string, { segments, servers, datasources }: Size) {
  const args = ['CoordBench', ...[segments, servers, datasources, referenceCycles].map(String)]
  const output = await outputOf(path.join(folder, 'java.sh'), args)
  const cycles = [...output.matchAll(/RUN (\d+) ms, loaded replicas (\d+).*heap=(\d+)MB/g)].map(
    ([, ms, copies, heap]) => ({
      ms: Number(ms),
      copies: Number(copies),
      heapMiB: Number(heap),
    }),
  )
  if (cycles.length !== referenceCycles)
    throw unavailable(`The Druid 37 benchmark in [${folder}] did not complete its runs`)
  return {
    // It assigns nothing before it has polled its metadata store.
    firstMs: cycles.find(({ copies }) => copies > 0)?.ms as number,
    steadyMs: medianOf(cycles.slice(-3).map(({ ms }) => ms)),
    heapMiB: Math.max(...cycles.map(({ heapMiB }) => heapMiB)),
  }
}

function outputOf(command: string, args: readonly string[]): Promise<string> {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text
  })
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (status) => {
      if (status === 0) resolve(output)
      else reject(unavailable(`[${command}] exited with status [${status}]`))
    })
  })
}
