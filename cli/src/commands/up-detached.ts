import { fork } from 'node:child_process'
import { openSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { Failure, type FailureCode, unavailable } from '@svc/domain/failure'
import type { ClusterAccess } from '../client/index.ts'
import { parseOptions, type StartOptions } from '../cluster/index.ts'
import { exitStatus, stopRequest } from '../exit/index.ts'
import { type HomeLayout, homeLayout, isHome, logFile, openHome } from '../home/index.ts'
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

// How long to wait until the leader has a report from every server. Thousands of virtual servers take a while.
const knownTimeoutMs = 60_000

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
  const steps = stepDisplay(out)
  // Starts with the first coordinator: a login takes a fifth of a second, while the other services are still starting.
  let unknown: Promise<string | undefined> | undefined
  const summary = await new Promise<Summary>((resolve, reject) => {
    child.on('message', (message: DetachedMessage) => {
      if (message.kind === 'step') steps.show(message.step)
      else if (message.kind === 'coordinator') unknown ??= unknownReason(home, message.url)
      else if (message.kind === 'ready') resolve(message.summary)
      else reject(new Failure(message.code, message.message))
    })
    child.once('error', reject)
    child.once('exit', (status, signal) => {
      const reason = signal ?? `exit status ${status}`
      reject(unavailable(`The supervisor exited (${reason}); see its log [${logPath}]`))
    })
  }).finally(steps.end)
  child.disconnect()
  child.unref()
  const isReady = summary.notReady.length === 0
  const reason = isReady ? await unknown : undefined
  printSummary(summary, { json })
  if (!isReady) process.exitCode = exitStatus.failed
  if (reason !== undefined) {
    process.stderr.write(`svc: The state of the cluster is not known yet: ${reason}\n`)
    process.exitCode = exitStatus.notKnown
  }
}

/** Waits until the leader has a report from every server. Returns why it does not, if the wait times out. */
async function unknownReason(home: HomeLayout, coordinatorUrl: string): Promise<string | undefined> {
  const [{ accessToCluster, clientOf }, { clusterIsKnown, waitUntil }] = await Promise.all([
    import('../client/index.ts'),
    import('../waiting/index.ts'),
  ])
  const { signal } = new AbortController()
  const wait = (access: ClusterAccess) =>
    waitUntil(clusterIsKnown(clientOf(access)), { timeoutMs: knownTimeoutMs, signal })
  try {
    const access = accessToCluster(home)
    await wait({ ...access, routerUrl: coordinatorUrl }).catch((error: Failure) => {
      if (error.code === 'timedOut') throw error
      // The router finds the leader if it is another coordinator.
      return wait(access)
    })
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    if (error.code === 'timedOut') return error.message
    // The stored password of the admin may have been changed. The cluster is ready nevertheless.
  }
  return undefined
}
