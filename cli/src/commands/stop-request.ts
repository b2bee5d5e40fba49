import { unavailable } from '@svc/domain/failure'

/** A wish of the user or the system that this process ends. */
export interface StopRequest {
  /** Aborted by the first signal, with a Failure that says so. */
  readonly signal: AbortSignal
  /** Resolves at the first signal. */
  readonly requested: Promise<void>
}

/**
 * From now on SIGINT, SIGTERM, SIGHUP and SIGQUIT ask for an orderly end; a second one ends this process at once, and
 * what it supervises with it.
 */
export function stopRequest(): StopRequest {
  const controller = new AbortController()
  const requested = new Promise<void>((resolve) => {
    const onSignal = (name: NodeJS.Signals) => {
      if (controller.signal.aborted) process.exit(1)
      controller.abort(unavailable(`Stopped by ${name} before all was done`))
      resolve()
    }
    for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const) process.on(name, onSignal)
  })
  return { signal: controller.signal, requested }
}
