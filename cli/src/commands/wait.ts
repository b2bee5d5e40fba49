import { invalidInput } from '@svc/domain/failure'
import type { Command } from 'commander'
import type { ClusterClient } from '../client/index.ts'
import {
  type ConnectionOptions,
  connect,
  existingHome,
  parsePositiveInteger,
  withConnection,
} from '../options/index.ts'
import { printJson, printNotices } from '../output/index.ts'
import type { Condition } from '../waiting/index.ts'

interface WaitOptions extends ConnectionOptions {
  readonly datasource?: string
  readonly replicas?: boolean
  readonly timeout: string
  readonly json?: boolean
}

const states = ['ready', 'known', 'settled', 'loaded', 'tasks', 'compaction'] as const

const reached: Readonly<Record<(typeof states)[number], string>> = {
  ready: 'The cluster is ready',
  known: 'The state of the cluster is known',
  settled: 'The cluster is settled',
  loaded: 'Segments are loaded',
  tasks: 'All tasks are done',
  compaction: 'Compaction is done',
}

/** Adds `./svc wait`. */
export function addWait(program: Command): void {
  withConnection(
    program
      .command('wait')
      .description(
        'Wait until a cluster reaches a state (the known and settled states require an svc cluster)',
      ),
  )
    .argument('<state>', `State: ${states.join(', ')}`)
    .option(
      '--datasource <name>',
      'Wait only for this datasource (only with the loaded, tasks, or compaction state)',
    )
    .option(
      '--replicas',
      'Wait for every replica that rules require, instead of one replica per segment (only with the loaded state)',
    )
    .option('--timeout <seconds>', 'How long to wait, in seconds', '600')
    .option('--json', 'Print JSON')
    .addHelpText(
      'after',
      `
States:
  ready       every server is ready, as shown by ./svc status; with --url: the coordinator, overlord, and broker respond
  known       the leader has a report from every server, so previews are possible
  settled     the cluster is known, load queues are empty, and a complete duty run changed nothing
  loaded      servers have loaded the segments that rules require
  tasks       all tasks are done: none is running or waiting
  compaction  everything that auto-compaction covers is compacted, and all compaction tasks are done

Exit status: 0 when the state is reached, 6 on timeout; the error lists what is missing.

Examples:
  ./svc wait ready
  ./svc wait settled
  ./svc wait loaded --datasource flights --replicas
  ./svc wait tasks --timeout 60
  ./svc wait compaction --datasource flights`,
    )
    .action(async (state: string, options: WaitOptions) => {
      const timeoutMs = 1000 * parsePositiveInteger('--timeout', options.timeout, 999_999)
      const condition = await conditionOf(state, options)
      const [{ waitUntil }, { stopRequest }, { formatSeconds }] = await Promise.all([
        import('../waiting/index.ts'),
        import('../exit/index.ts'),
        import('../terminal/index.ts'),
      ])
      const waitedMs = Math.round(await waitUntil(condition, { timeoutMs, signal: stopRequest().signal }))
      if (options.json) printJson({ state, waitedMs })
      else process.stdout.write(`${reached[state as keyof typeof reached]} (${formatSeconds(waitedMs)}).\n`)
    })
}

/** The condition of a state. Throws invalidInput if there is no such state, or if an option does not apply to it. */
async function conditionOf(state: string, options: WaitOptions): Promise<Condition> {
  const { datasource: dataSource, replicas = false } = options
  if (replicas && state !== 'loaded') throw invalidInput('Option --replicas requires the state [loaded]')
  if (dataSource !== undefined && !['loaded', 'tasks', 'compaction'].includes(state))
    throw invalidInput('Option --datasource requires one of the states [loaded, tasks, compaction]')
  const waiting = await import('../waiting/index.ts')
  switch (state) {
    case 'ready':
      return options.url === undefined
        ? waiting.processesAreReady(existingHome(options.home))
        : connected(options, waiting.leadersAnswer)
    case 'known':
      return connected(options, waiting.clusterIsKnown)
    case 'settled':
      return connected(options, (client) => waiting.clusterIsSettled(client, printNotices))
    case 'loaded':
      return connected(options, (client) =>
        waiting.segmentsAreLoaded(client, { dataSource, allReplicas: replicas }),
      )
    case 'tasks':
      return connected(options, (client) => waiting.tasksAreDone(client, dataSource))
    case 'compaction':
      return connected(options, (client) => waiting.compactionIsDone(client, dataSource))
    default:
      throw invalidInput(`Invalid value [${state}] for [state]: expected one of [${states.join(', ')}]`)
  }
}

/** A condition that connects when it is first checked, and again as long as the cluster is unavailable. */
function connected(
  options: ConnectionOptions,
  conditionFor: (client: ClusterClient) => Condition,
): Condition {
  let condition: Condition | undefined
  return async () => {
    condition ??= conditionFor(await connect(options))
    return await condition()
  }
}
