import { fork } from 'node:child_process'
import { openSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { Failure, type FailureCode, unavailable } from '@svc/domain/failure'
import type { StartOptions } from '../cluster/index.ts'
import { parseOptions } from '../cluster-options/index.ts'
import { exitStatus, stopRequest } from '../exit/index.ts'
import { homeLayout, isHome, logFile, openHome } from '../home/index.ts'
import { printSummary, type Summary, stepDisplay } from './up-summary.ts'

/** Messages of the supervising process while it starts; the last one is `ready` or `failed`. */
export type DetachedMessage =
  | { readonly kind: 'step'; readonly step: string }
  | { readonly kind: 'coordinator'; readonly url: string }
  | { readonly kind: 'ready'; readonly summary: Summary }
  | { readonly kind: 'failed'; readonly code: FailureCode; readonly message: string }

/** Options that can be sent to another process. */
export type DetachedOptions = Pick<
  StartOptions,
  | 'home'
  | 'isNewHome'
  | 'portOffset'
  | 'historicals'
  | 'instances'
  | 'profile'
  | 'set'
  | 'ldap'
  | 'hasOwnSecurity'
  | 'adminPassword'
>

/**
 * Starts the cluster in its own process, prints its progress, and returns when the cluster is ready and known: when the
 * leader has a report from every server.
 */
export async function runDetached(options: DetachedOptions & { json?: boolean }): Promise<void> {
  parseOptions(options)
  const isNewHome = !isHome(homeLayout(options.home))
  const home = openHome(options.home)
  const out = options.json ? process.stderr : process.stdout
  const logPath = logFile(home, 'supervisor')
  const log = openSync(logPath, 'a', 0o600)
  const {
    json,
    home: _home,
    portOffset,
    historicals,
    instances,
    profile,
    set,
    ldap,
    adminPassword,
    hasOwnSecurity,
  } = options
  const child = fork(fileURLToPath(new URL('./up-detached-process.ts', import.meta.url)), [home.root], {
    detached: true,
    cwd: home.root,
    stdio: ['ignore', log, log, 'ipc'],
    execArgv: ['--max-semi-space-size=1'],
  })
  const { requested } = stopRequest()
  void requested.then(() => child.kill('SIGTERM'))
  // Sent over the channel because every user of the machine can see arguments.
  child.send({
    home: home.root,
    isNewHome,
    portOffset,
    historicals,
    instances,
    profile,
    set,
    ldap,
    adminPassword,
    hasOwnSecurity,
  } satisfies DetachedOptions)
  // Loaded while the supervisor starts, because every processor is busy later.
  const waiting = import('./unknown-reason.ts')
  const steps = stepDisplay(out)
  // Starts with the first coordinator: a login can take a fifth of a second, while the other services are still starting.
  let unknown: Promise<string | undefined> | undefined
  const summary = await new Promise<Summary>((resolve, reject) => {
    child.on('message', (message: DetachedMessage) => {
      if (message.kind === 'step') steps.show(message.step)
      else if (message.kind === 'coordinator')
        unknown ??= waiting.then(({ unknownReason }) => unknownReason(home, message.url))
      else if (message.kind === 'ready') resolve(message.summary)
      else reject(new Failure(message.code, message.message))
    })
    child.once('error', reject)
    child.once('exit', (status, signal) => {
      const reason = signal ?? `exit status ${status}`
      reject(unavailable(`The supervisor exited (${reason}); see its log [${logPath}]`))
    })
  }).finally(steps.end)
  const isReady = summary.notReady.length === 0
  const reason = isReady ? await unknown : undefined
  child.disconnect()
  child.unref()
  printSummary(summary, { json })
  if (!isReady) process.exitCode = exitStatus.failed
  if (reason !== undefined) {
    process.stderr.write(`svc: The state of the cluster is not known yet: ${reason}\n`)
    process.exitCode = exitStatus.notKnown
  }
}
