import { appendFileSync, cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { checkHistory, type Verdict } from './check/index.ts'
import { type Entry, readHistory } from './history.ts'
import { observe } from './observe.ts'
import { startFaults } from './run-faults.ts'
import { startWork } from './run-work.ts'
import { planSchedule } from './schedule.ts'
import { waitUntilIdle } from './wait-until-idle.ts'
import { type PreparedHome, startWorld } from './world.ts'

/** The result of a run. */
export interface SeedResult {
  readonly file: string
  readonly verdict: Verdict
  /** Faults that were not possible, and why. */
  readonly without: readonly string[]
  /** Milliseconds of each part of the run. */
  readonly tookMs: Readonly<Record<'start' | 'work' | 'rest', number>>
}

/**
 * Runs the work and the faults of a seed against its own cluster, which starts from a copy of a prepared
 * home. Writes the history to a file in `folder`, and the logs of the cluster next to it if an invariant is
 * violated.
 */
export async function runSeed(
  seed: number,
  seconds: number,
  folder: string,
  prepared: PreparedHome,
): Promise<SeedResult> {
  mkdirSync(folder, { recursive: true })
  const file = path.join(folder, `seed-${seed}.jsonl`)
  const logs = path.join(folder, `seed-${seed}-logs`)
  rmSync(logs, { recursive: true, force: true })
  const schedule = planSchedule(seed, seconds)
  const startedAtMs = performance.now()
  const world = await startWorld(prepared.home)
  try {
    const startedAt = new Date().toISOString()
    const began = performance.now()
    const now = () => Math.round((performance.now() - began) * 1000) / 1000
    const record = (entry: Entry) => appendFileSync(file, `${JSON.stringify(entry)}\n`)
    writeFileSync(file, '')
    const without = [...world.without, 'moveClock: the clocks of Postgres and Redis are not moved']
    record({ type: 'begin', seed, seconds, startedAt, without })
    const endObserving = observe(world, now, record)
    let restMs = 0
    try {
      await Promise.all([
        startWork(world.cluster, schedule.work, now, record),
        startFaults(world, schedule.faults, now, record),
      ])
      restMs = now()
      const { problem, rest } = await waitUntilIdle(world)
      record({ type: 'rest', at: now(), problem, rest })
    } finally {
      await endObserving()
    }
    const entries = readHistory(file)
    const verdict = checkHistory(entries)
    if (verdict.violations.length > 0) cpSync(world.cluster.home.logs, logs, { recursive: true })
    const start = began - startedAtMs
    return { file, verdict, without, tookMs: { start, work: restMs, rest: now() - restMs } }
  } catch (error) {
    cpSync(world.cluster.home.logs, logs, { recursive: true })
    throw error
  } finally {
    await world.end()
  }
}
