import { asksForLogin, loadSettings } from '@svc/shared/config'
import { type Cluster, commonPropertiesFile, type NotReady, runtimePropertiesFile } from '../cluster/index.ts'
import { homeArgument, secretFile } from '../home/index.ts'
import { trustStoreFile } from '../pki/index.ts'
import { emphasized, formatSeconds, formatTable, sinceCommandMs } from '../terminal/index.ts'
import { printJson } from './print.ts'

/** What is told once a cluster runs; plain data, so that a detached process can hand it over. */
export interface Summary {
  readonly home: string
  readonly profile: string
  readonly routerUrl: string
  readonly processes: readonly {
    readonly role: string
    readonly instance: string
    readonly url: string
    readonly pid: number | null
    readonly state: string
  }[]
  readonly notReady: readonly NotReady[]
  /** Where the admin's password and the certificate to trust stand; null in the plain profile. */
  readonly adminPasswordFile: string | null
  readonly certificateFile: string | null
  /** Whether the router asks for logins, which those who start the plain profile may have configured themselves. */
  readonly asksForLogin: boolean
}

/** The summary of a cluster that has just started. */
export function summarize(cluster: Cluster): Summary {
  const notReady = new Set(cluster.notReady.map(({ instance }) => instance))
  return {
    home: cluster.home.root,
    profile: cluster.plan.options.profile,
    routerUrl: cluster.routerUrl,
    processes: cluster.processes().map(({ role, instance, url, process }) => ({
      role,
      instance,
      url,
      pid: process?.pid ?? null,
      state: notReady.has(instance) ? 'not ready' : 'ready',
    })),
    notReady: cluster.notReady,
    adminPasswordFile:
      cluster.adminPassword === undefined ? null : secretFile(cluster.home, 'admin-password'),
    certificateFile: cluster.trusted === undefined ? null : trustStoreFile(cluster.home.pki),
    asksForLogin: routerAsksForLogin(cluster),
  }
}

function routerAsksForLogin({ home, plan }: Cluster): boolean {
  const { instance } = plan.services.find(({ url }) => url === plan.routerUrl)!
  const files = [commonPropertiesFile(home), runtimePropertiesFile(home, instance)]
  return asksForLogin(loadSettings('router', files, process.env))
}

/** What the plain profile leaves open: all of it, unless TLS or logins were set by themselves. */
export function plainProfileText({
  certificateFile,
  asksForLogin,
}: Pick<Summary, 'certificateFile' | 'asksForLogin'>): string {
  const tls = certificateFile === null ? 'no TLS' : 'TLS as it was set'
  return asksForLogin
    ? `Profile plain: ${tls}, log-in as it was set.`
    : `Profile plain: ${tls}, no log-in, everything is allowed.`
}

/** Tells one step of a start and when it was done, counted from the command. */
export function tellStep(out: NodeJS.WritableStream, step: string): void {
  out.write(`${formatSeconds(sinceCommandMs()).padStart(8)}  ${step}\n`)
}

/** Prints the summary: as JSON, or as a table with what to do next. */
export function tellSummary(summary: Summary, options: { json?: boolean | undefined }): void {
  const tookMs = Math.round(sinceCommandMs())
  if (options.json) {
    printJson({ ...summary, tookMs })
    return
  }
  const rows = summary.processes.map(({ role, instance, url, pid, state }) => [
    role,
    instance,
    url,
    String(pid ?? ''),
    state,
  ])
  const isReady = summary.notReady.length === 0
  const lines = [
    '',
    formatTable(['role', 'instance', 'URL', 'pid', 'state'], rows),
    '',
    ...summary.notReady.map(({ instance, problem }) => `${instance} is not ready: ${problem}`),
    ...(isReady
      ? []
      : [`What runs goes on and tries again; ./svc down${homeArgument(summary.home)} ends it.`]),
    emphasized(`${isReady ? 'Ready' : 'Partly ready'} in ${formatSeconds(tookMs)}: ${summary.routerUrl}`),
    ...(summary.adminPasswordFile === null
      ? [plainProfileText(summary)]
      : [
          `User admin, password: ./svc password${homeArgument(summary.home)} (file ${summary.adminPasswordFile})`,
        ]),
    ...(summary.certificateFile === null ? [] : [`Certificate to trust: ${summary.certificateFile}`]),
  ]
  process.stdout.write(`${lines.join('\n')}\n`)
}
