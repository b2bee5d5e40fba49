import { invalidInput } from '@svc/domain/failure'
import { type FaultKind, faultKinds } from '@svc/domain/faults'
import type { Command } from 'commander'
import { connectToHome, existingHome, withHome } from './home-option.ts'

const path = '/svc/simulation/v1/faults'

interface FaultOptions {
  readonly home?: string
  readonly probability?: string
  readonly delay?: string
  readonly for?: string
  readonly json?: boolean
}

interface AnsweredFault {
  readonly id: string
  readonly kind: FaultKind
  readonly target: string
  readonly probability: number
  readonly delayMs: number
  readonly since: string
  readonly until: string | null
}

const about: Readonly<Record<FaultKind, string>> = {
  latency: 'requests to it wait',
  cut: 'connections to it are broken off without an answer',
  kill: 'it is killed; with --for again and again',
  'slow-disk': 'its uses of deep storage and cache wait',
}
const hasDelay = (kind: FaultKind): boolean => kind === 'latency' || kind === 'slow-disk'

/** Adds `./svc fault` with its commands. */
export function addFault(program: Command): void {
  const fault = program
    .command('fault')
    .description('make servers of a running simulation fail on purpose (svc.simulation.enabled)')
    .addHelpText(
      'after',
      `
A target is an instance such as historical-1 (coordinator is the first of them), a role such as historical, or a
server by host and port.

Examples:
  ./svc up --detach --set svc.simulation.enabled=true
  ./svc fault latency router --delay PT0.5S --probability 0.2 --for PT1M
  ./svc fault kill coordinator
  ./svc fault list
  ./svc fault clear`,
    )
  for (const kind of faultKinds) addKind(fault, kind)
  addAnswering(fault, 'list', 'show the faults that are on', async (options) => {
    const faults = (await send(options, 'GET')) as AnsweredFault[]
    return { json: faults, text: await tableOf(faults) }
  })
  addAnswering(fault, 'clear', 'switch a fault off, or all', async (options, id) => {
    const answer = (await send(options, 'DELETE', id && `/${encodeURIComponent(id)}`)) as { cleared: number }
    return { json: answer, text: `${answer.cleared} switched off` }
  }).argument('[id]')
}

function addKind(fault: Command, kind: FaultKind): void {
  const command = addAnswering(fault, kind, about[kind], async (options, target) => {
    const body = {
      kind,
      target: await nameOf(options, target!),
      ...(options.probability === undefined ? {} : { probability: readShare(options.probability) }),
      ...(options.delay === undefined ? {} : { delayMs: await readPeriod('--delay', options.delay) }),
      ...(options.for === undefined ? {} : { forMs: await readPeriod('--for', options.for) }),
    }
    const switchedOn = (await send(options, 'POST', '', body)) as AnsweredFault
    return { json: switchedOn, text: await tableOf([switchedOn]) }
  })
    .argument('<target>')
    .option('--probability <n>', 'the part that it strikes, from 0 to 1 (default: 1)')
    .option('--for <period>', 'ends it after this time, such as PT30S')
  if (hasDelay(kind)) command.option('--delay <period>', 'how long they wait (default: PT1S)')
}

interface Shown {
  readonly json: unknown
  readonly text: string
}

/** A command that asks the cluster and shows the answer; its argument, where it has one, comes second. */
function addAnswering(
  fault: Command,
  name: string,
  description: string,
  ask: (options: FaultOptions, argument?: string) => Promise<Shown>,
): Command {
  return withHome(fault.command(name).description(description))
    .option('--json', 'print the answer as JSON')
    .action(async (...given: unknown[]) => {
      // The command itself stands last, its options before it, its argument, where it has one, first.
      const [argument, options] = (given.length > 2 ? given : [undefined, ...given]) as [
        string | undefined,
        FaultOptions,
      ]
      const { json, text } = await ask(options, argument)
      process.stdout.write(`${options.json ? JSON.stringify(json) : text}\n`)
    })
}

async function send({ home }: FaultOptions, method: string, rest = '', body?: unknown): Promise<unknown> {
  const client = await connectToHome(home)
  return await client.send(method, `${path}${rest}`, body)
}

/** Instances are known to the home only: the cluster knows them by host and port. */
async function nameOf({ home }: FaultOptions, target: string): Promise<string> {
  const { processesOf } = await import('../home/index.ts')
  const services = processesOf(existingHome(home)).filter(({ url }) => url.startsWith('http'))
  // An instance that is called as its role: where there are others of that role, it alone is meant.
  const instance = services.find((service) => service.instance === target)
  if (instance) return new URL(instance.url).host
  const isKnown =
    services.length === 0 || services.some(({ role, url }) => role === target || new URL(url).host === target)
  if (isKnown) return target
  const names = [
    ...services.map((service) => service.instance),
    'historical',
    ...services.map(({ url }) => new URL(url).host),
  ]
  throw invalidInput(
    `Target [${target}] is not a part of this cluster; allowed are [${[...new Set(names)].join('], [')}]`,
  )
}

function readShare(text: string): number {
  const share = Number(text)
  if (text.trim() !== '' && share >= 0 && share <= 1) return share
  throw invalidInput(`Option --probability has value [${text}], allowed are numbers from 0 to 1`)
}

async function readPeriod(option: string, text: string): Promise<number> {
  const { addPeriod, parsePeriod } = await import('@svc/domain/time')
  return addPeriod(0, parsePeriod(text, option))
}

async function tableOf(faults: readonly AnsweredFault[]): Promise<string> {
  if (faults.length === 0) return 'No fault is on'
  const { formatTable } = await import('../terminal/index.ts')
  return formatTable(
    ['id', 'fault', 'target', 'probability', 'delay', 'until'],
    faults.map(({ id, kind, target, probability, delayMs, until }) => [
      id,
      kind,
      target,
      String(probability),
      hasDelay(kind) ? `${delayMs} ms` : '',
      until ?? 'it is cleared',
    ]),
  )
}
