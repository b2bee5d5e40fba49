import { spawn } from 'node:child_process'
import path from 'node:path'
import { unavailable } from '@svc/domain/failure'
import { describeMachine, medianOf } from './figures.ts'

/** What one size of cluster took, in medians over the rounds. */
export interface CoordinatorFigures {
  readonly segments: number
  readonly servers: number
  readonly datasources: number
  /** Copies that the first run assigned. */
  readonly copies: number
  readonly firstMs: number
  /** The longest stretch of the first run in which no request is answered. */
  readonly longestPartMs: number
  readonly steadyMs: number
  readonly wholeMs: number
  /** A run after a day has passed. */
  readonly nextDayMs: number
  readonly loadStatusMs: number
  /** The whole process, at rest after the runs and at its peak. */
  readonly residentMiB: number
  readonly peakMiB: number
  /** What the reference took, and how many times as long as this. */
  readonly reference?: ReferenceFigures
}

interface ReferenceFigures {
  readonly firstMs: number
  readonly steadyMs: number
  readonly heapMiB: number
  readonly firstRatio: number
  readonly steadyRatio: number
}

/** What the benchmark of the coordinator found. */
export interface CoordinatorBenchmark {
  readonly machine: string
  readonly rounds: number
  readonly sizes: readonly CoordinatorFigures[]
}

const sizes = [
  { segments: 100_000, servers: 20, datasources: 20 },
  { segments: 1_000_000, servers: 100, datasources: 20 },
]
// Cycles of the reference in a round: one of the first assigns, the last ones find nothing to do.
const referenceCycles = 6

type Round = Omit<CoordinatorFigures, 'segments' | 'servers' | 'datasources' | 'reference'>

/**
 * Measures the runs of the coordinator over clusters of two sizes, each round in a new process. With `reference`, a
 * folder that holds the recorded system, rounds of both take turns.
 */
export async function benchCoordinator(
  rounds: number,
  reference: string | undefined,
  onRound: (text: string) => void,
): Promise<CoordinatorBenchmark> {
  const found: CoordinatorFigures[] = []
  for (const size of sizes) {
    const own: Round[] = []
    const other: { firstMs: number; steadyMs: number; heapMiB: number }[] = []
    for (let round = 1; round <= rounds; round++) {
      const ours = await measureOwn(size)
      own.push(ours)
      onRound(
        `${size.segments} segments, round ${round}: first ${ours.firstMs.toFixed(0)} ms, steady ${ours.steadyMs.toFixed(1)} ms, all ${ours.wholeMs.toFixed(0)} ms, ${ours.peakMiB.toFixed(0)} MiB at most`,
      )
      if (reference === undefined) continue
      const theirs = await measureReference(reference, size)
      other.push(theirs)
      onRound(
        `  reference: first ${theirs.firstMs.toFixed(0)} ms, steady ${theirs.steadyMs.toFixed(0)} ms, heap ${theirs.heapMiB.toFixed(0)} MiB`,
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
      wholeMs: ofRounds('wholeMs'),
      nextDayMs: ofRounds('nextDayMs'),
      loadStatusMs: ofRounds('loadStatusMs'),
      residentMiB: ofRounds('residentMiB'),
      peakMiB: ofRounds('peakMiB'),
      ...(other.length === 0 ? {} : { reference: compare(other, firstMs, steadyMs) }),
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
  const script = path.join(import.meta.dirname, 'bench-coordinator-run.ts')
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
    throw unavailable(`The reference in [${folder}] did not finish its runs`)
  return {
    // Before it has looked at its store it assigns nothing.
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
      else reject(unavailable(`[${command}] ended with status [${status}]`))
    })
  })
}
