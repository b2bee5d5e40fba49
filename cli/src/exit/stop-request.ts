import { cancelled } from '@svc/domain/failure'
import { exitStatus } from './exit-status.ts'

/** A request by the user or the system to stop this process. */
export interface StopRequest {
  /** Aborted by the first signal, with a Failure that says so. */
  readonly signal: AbortSignal
  /** Resolves at the first signal. */
  readonly requested: Promise<void>
}

/**
 * From now on SIGINT, SIGTERM, SIGHUP, and SIGQUIT request an orderly stop; a second one ends this process, and what it
 * supervises, at once.
 */
export function stopRequest(): StopRequest {
  const controller = new AbortController()
  const requested = new Promise<void>((resolve) => {
    const onSignal = (name: NodeJS.Signals) => {
      if (controller.signal.aborted) process.exit(exitStatus.interrupted)
      controller.abort(cancelled(`Interrupted by ${name}`))
      resolve()
    }
    for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const) process.on(name, onSignal)
  })
  return { signal: controller.signal, requested }
}
