import assert from 'node:assert/strict'
import { setTimeout as delay } from 'node:timers/promises'
import { docker } from './compose-cluster.ts'

/** Starts a container several times, stops it after each of the delays, and expects that it exits at once with status 0. */
export async function assertStopsAtOnce(container: string, delaysMs: readonly number[]): Promise<void> {
  for (const delayMs of delaysMs) {
    await docker('start', container)
    await delay(delayMs)
    // After this time, Docker kills the container, and the status is 137.
    await docker('stop', '--time', '60', container)
    const status = await docker('inspect', '--format', '{{.State.ExitCode}}', container)
    assert.equal(status.trim(), '0', `stopped after ${delayMs} ms`)
  }
}
