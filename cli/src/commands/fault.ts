import { serverNameAt } from '@svc/domain/calls'
import { invalidInput } from '@svc/domain/failure'
import {
  type AnsweredFault,
  type FaultKind,
  faultKinds,
  faultLimits,
  faultsPath,
  hasDelay,
  kindsBetweenServers,
  maxKillReason,
} from '@svc/domain/faults'
import type { Command } from 'commander'
import { affectedBy, endOf } from '../faults/index.ts'
import { type ConnectionOptions, connect, existingHome, withSvcConnection } from '../options/index.ts'
import { countOf } from '../terminal/index.ts'

interface FaultOptions extends ConnectionOptions {
  readonly from?: string
  readonly probability?: string
  readonly delay?: string
  readonly for?: string
  readonly json?: boolean
}

const about: Readonly<Record<FaultKind, string>> = {
  latency: 'Delay requests to a server',
  cut: 'Disconnect a server from users and other servers; Postgres and Redis stay reachable',
  kill: 'Kill a server, which then restarts (with --for: kill it repeatedly)',
  'slow-disk': "Slow down a server's access to deep storage and its segment cache",
}

/** Adds `./svc fault` with its commands. */
export function addFault(program: Command): void {
  const fault = program
    .command('fault')
    .description('Inject faults into servers of a running simulation (requires svc.simulation.enabled)')
    .addHelpText(
      'after',
      `
A target is an instance such as historical-1 (coordinator means the first coordinator), a role such as historical, or the
host and port of a server, including virtual servers. On virtual servers, latency delays loads and drops, a cut stops
their reports, and a killed server restarts after 2 s.

A cut works in both directions between servers, but Postgres and Redis stay reachable, so a leader that is cut off stays
the leader. To make another server take over, kill the leader.

A kill lasts at most 5 minutes: ./svc fault clear requires the coordinator, so ${maxKillReason}.

Examples:
  ./svc up --detach --set svc.simulation.enabled=true
  ./svc fault latency router --delay PT0.5S --probability 0.2 --for PT1M
  ./svc fault cut historical-1 --from broker --for PT1M
  ./svc fault kill coordinator
  ./svc fault list
  ./svc fault clear`,
    )
  for (const kind of faultKinds) addKind(fault, kind)
  addAnswering(fault, 'list', 'Show active faults', async (options) => {
    const faults = (await send(options, 'GET')) as AnsweredFault[]
    return { json: faults, text: await tableOf(faults) }
  })
  addAnswering(fault, 'clear', 'Clear one fault, or all', async (options, id) => {
    if (id !== undefined) await checkIsActive(options, id)
    const answer = (await send(options, 'DELETE', id && `/${encodeURIComponent(id)}`)) as { cleared: number }
    return { json: answer, text: `Cleared ${countOf(answer.cleared, 'fault')}.` }
  }).argument('[id]', 'ID of the fault, from ./svc fault list (default: all)')
}

function addKind(fault: Command, kind: FaultKind): void {
  const command = addAnswering(fault, kind, about[kind], async (options, target) => {
    const { delay, for: duration, from, probability } = options
    const given = {
      ...(from === undefined ? {} : { from: await nameOf(options, from) }),
      ...(probability === undefined ? {} : { probability: readProbabilityOption(probability) }),
      ...(delay === undefined
        ? {}
        : { delayMs: await readPeriodOption('--delay', delay, faultLimits.delayMs) }),
      ...(duration === undefined ? {} : { forMs: await readForOption(kind, duration) }),
    }
    const body = { kind, target: await nameOf(options, target!), ...given }
    const injected = (await send(options, 'POST', '', body)) as AnsweredFault
    return { json: injected, text: await tableOf([injected]) }
  })
    .argument('<target>', 'Instance, role, or host and port of a server')
    .option('--probability <n>', 'Fraction of operations affected, greater than 0 and at most 1 (default: 1)')
    .option(
      '--for <period>',
      kind === 'kill'
        ? `How long to repeat the kill, for example PT30S (max PT5M, because ${maxKillReason}; default: kill once)`
        : 'How long the fault lasts, for example PT30S (default: until cleared)',
    )
  if (kindsBetweenServers.includes(kind))
    command.option(
      '--from <server>',
      'Instance, or host and port, whose requests are affected (default: all)',
    )
  if (hasDelay(kind)) command.option('--delay <period>', 'Delay of each operation (default: PT1S)')
}

interface Shown {
  readonly json: unknown
  readonly text: string
}

/** A command that sends a request and shows the answer; its argument, if any, comes second. */
function addAnswering(
  fault: Command,
  name: string,
  description: string,
  send: (options: FaultOptions, argument?: string) => Promise<Shown>,
): Command {
  return withSvcConnection(fault.command(name).description(description))
    .option('--json', 'Print JSON')
    .action(async (...given: unknown[]) => {
      // Commander passes the argument first, if there is one, then the options, then the command.
      const [argument, options] = (given.length > 2 ? given : [undefined, ...given]) as [
        string | undefined,
        FaultOptions,
      ]
      const { json, text } = await send(options, argument)
      process.stdout.write(`${options.json ? JSON.stringify(json) : text}\n`)
    })
}

async function send(options: FaultOptions, method: string, rest = '', body?: unknown): Promise<unknown> {
  const client = await connect(options)
  return await client.send(method, `${faultsPath}${rest}`, body)
}

async function checkIsActive(options: FaultOptions, id: string): Promise<void> {
  const faults = (await send(options, 'GET')) as AnsweredFault[]
  if (faults.some((fault) => fault.id === id)) return
  const allowed =
    faults.length === 0
      ? 'no faults are active'
      : `expected the ID of an active fault [${faults.map((fault) => fault.id).join(', ')}]; omit the ID to clear all faults`
  throw invalidInput(`Invalid value [${id}] for [id]: ${allowed}`)
}

/** Only the home knows instance names; the cluster knows servers, including virtual ones, by host and port. */
async function nameOf(options: FaultOptions, target: string): Promise<string> {
  if (options.url !== undefined) return target
  const { processesOf, serverNameOf } = await import('../home/index.ts')
  const home = existingHome(options.home)
  // The first instance has the name of its role: among several of that role, the name means this one.
  const name = serverNameOf(home, target)
  if (name !== undefined) return name
  const services = processesOf(home).filter(({ url }) => url.startsWith('http'))
  const own = services.flatMap(({ url }) => serverNameAt(url) ?? [])
  if (services.length === 0 || own.includes(target) || services.some(({ role }) => role === target))
    return target
  const servers = target.includes(':') ? await dataServers(options) : []
  if (servers.includes(target)) return target
  const { nearNames } = await import('@svc/domain/validation')
  const near = nearNames(target, servers.length > 0 ? servers : own, maxSuggestedServers)
  const names = [...services.map((service) => service.instance), 'historical', ...near]
  throw invalidInput(
    `Invalid target [${target}]: expected one of [${[...new Set(names)].join(', ')}], or host:port of a server`,
  )
}

/** The data servers that the cluster knows, and the targets of faults: a disconnected server may be unknown. */
async function dataServers(options: FaultOptions): Promise<string[]> {
  const client = await connect(options)
  const known = (await client.send('GET', '/svc/coordinator/v1/servers')) as string[]
  const faults = (await send(options, 'GET')) as AnsweredFault[]
  return [...known, ...faults.map(({ target }) => target)]
}

const maxSuggestedServers = 5

function readProbabilityOption(text: string): number {
  const probability = text.trim() === '' ? Number.NaN : Number(text)
  if (probability > 0 && probability <= 1) return probability
  throw invalidInput(
    `Invalid value [${text}] for [--probability]: expected a number greater than 0 and at most 1`,
  )
}

const readForOption = (kind: FaultKind, text: string): Promise<number> =>
  kind === 'kill'
    ? readPeriodOption(
        '--for',
        text,
        faultLimits.killForMs,
        `; longer kills are not allowed, because ${maxKillReason}`,
      )
    : readPeriodOption('--for', text, faultLimits.forMs)

/** The milliseconds of an ISO 8601 period, which must be within limits. */
async function readPeriodOption(
  option: string,
  text: string,
  { min, max }: { readonly min: number; readonly max: number },
  why = '',
): Promise<number> {
  const { addPeriod, periodOf } = await import('@svc/domain/time')
  const period = periodOf(text)
  const periodMs = period === undefined ? Number.NaN : addPeriod(0, period)
  if (periodMs >= min && periodMs <= max) return periodMs
  const [from, to] = [min, max].map((ms) => formatPeriodMs(ms))
  throw invalidInput(
    `Invalid value [${text}] for [${option}]: expected an ISO 8601 period from ${from} to ${to}, such as PT30S${why}`,
  )
}

/** A number of milliseconds as an ISO 8601 period, in its largest unit. */
function formatPeriodMs(ms: number): string {
  if (ms % 86_400_000 === 0) return `P${ms / 86_400_000}D`
  return ms % 60_000 === 0 ? `PT${ms / 60_000}M` : `PT${ms / 1000}S`
}

async function tableOf(faults: readonly AnsweredFault[]): Promise<string> {
  if (faults.length === 0) return 'No active faults.'
  const { formatTable } = await import('../terminal/index.ts')
  return formatTable(
    ['id', 'fault', 'target', 'probability', 'delay', 'until'],
    faults.map((fault) => [
      fault.id,
      fault.kind,
      affectedBy(fault),
      String(fault.probability),
      hasDelay(fault.kind) ? `${fault.delayMs} ms` : '',
      endOf(fault),
    ]),
  )
}
