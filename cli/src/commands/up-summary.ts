import type { NotReady } from '../cluster/index.ts'
import { homeArgument } from '../home/index.ts'
import type { SampleUser } from '../ldap/index.ts'
import { columnsOf, emphasized, formatSeconds, formatTable, sinceCommandMs } from '../terminal/index.ts'

/** What is printed once a cluster runs; plain data, so that a detached process can send it. */
export interface Summary {
  readonly home: string
  readonly profile: string
  readonly routerUrl: string
  readonly coordinatorUrl: string
  readonly processes: readonly {
    readonly role: string
    readonly instance: string
    readonly url: string
    readonly port: number
    readonly pid: number | null
    readonly state: string
  }[]
  readonly notReady: readonly NotReady[]
  /** Tiers that had historicals at an earlier start, and have none now. */
  readonly unservedTiers: readonly string[]
  /** Files with the admin's password and the certificate to trust; null in the plain profile. */
  readonly adminPasswordFile: string | null
  readonly certificateFile: string | null
  /** The certificate to trust, PEM; null in the plain profile. */
  readonly certificate: string | null
  /** Whether the router requires logins. Properties can enable them even in the plain profile. */
  readonly requiresLogin: boolean
  /** The users of the sample directory; none without --ldap. */
  readonly directoryUsers: readonly SampleUser[]
}

/** What the plain profile leaves open: everything, unless properties enable TLS or logins. */
export function plainProfileText({
  certificateFile,
  requiresLogin,
}: Pick<Summary, 'certificateFile' | 'requiresLogin'>): string {
  const tls = certificateFile === null ? 'no TLS' : 'TLS as configured'
  return requiresLogin
    ? `Profile plain: ${tls}, login as configured.`
    : `Profile plain: ${tls}, no login, everything is allowed.`
}

/** Prints a step of the start with the time since the command began. */
export function printStep(out: NodeJS.WritableStream, step: string): void {
  out.write(`${stepText(step)}\n`)
}

/** Shows the steps of a start until `end`: on a terminal as one line that changes, otherwise as lines. */
export interface StepDisplay {
  show(step: string): void
  end(): void
}

/** Where steps are shown. */
interface StepOutput {
  readonly isTTY?: boolean
  readonly columns?: number
  write(text: string): unknown
}

const clearLine = '\r\u001b[K'

/** Shows steps on a stream. */
export function stepDisplay(out: StepOutput): StepDisplay {
  if (!out.isTTY) return { show: (step) => out.write(`${stepText(step)}\n`), end: () => undefined }
  return {
    // A line that wraps could not be cleared.
    show: (step) => out.write(`${clearLine}${stepText(step).slice(0, columnsOf(out) - 1)}`),
    end: () => out.write(clearLine),
  }
}

const stepText = (step: string): string => `${formatSeconds(sinceCommandMs()).padStart(8)}  ${step}`

/** Prints the summary as one line of JSON, or as a table with the next steps. */
export function printSummary(summary: Summary, options: { json?: boolean | undefined }): void {
  const tookMs = Math.round(sinceCommandMs())
  if (options.json) {
    process.stdout.write(`${JSON.stringify({ ...summary, tookMs })}\n`)
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
      : [`The cluster keeps running and retrying. Stop it with ./svc down${homeArgument(summary.home)}.`]),
    emphasized(`${isReady ? 'Ready' : 'Partially ready'} in ${formatSeconds(tookMs)}: ${summary.routerUrl}`),
    ...(summary.adminPasswordFile === null
      ? [plainProfileText(summary)]
      : [
          `Log in as admin; ./svc password${homeArgument(summary.home)} prints the password (stored in ${summary.adminPasswordFile})`,
        ]),
    ...unservedLines(summary),
    ...directoryLines(summary),
    ...(summary.certificateFile === null ? [] : [`Certificate to trust: ${summary.certificateFile}`]),
  ]
  process.stdout.write(`${lines.join('\n')}\n`)
}

/** A hint about tiers that an earlier start had. */
export function unservedLines({ unservedTiers: tiers }: Pick<Summary, 'unservedTiers'>): string[] {
  if (tiers.length === 0) return []
  const names = tiers.length === 1 ? `Tier [${tiers[0]}]` : `Tiers [${tiers.join(', ')}]`
  return [
    `${names} had historicals the last time the cluster ran, but ${tiers.length === 1 ? 'has' : 'have'} none now. To start them again, use --historicals.`,
  ]
}

/** The users of the sample directory with their passwords, which are public. */
export function directoryLines({ directoryUsers }: Pick<Summary, 'directoryUsers'>): string[] {
  if (directoryUsers.length === 0) return []
  return [
    `Directory users: ${directoryUsers.map(({ user, password }) => `${user} (password ${password})`).join(', ')}`,
  ]
}
