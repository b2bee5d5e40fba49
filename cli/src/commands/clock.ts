import { invalidInput } from '@svc/domain/failure'
import type { Command } from 'commander'
import { type ConnectionOptions, connect, withSvcConnection } from '../options/index.ts'

const clockPath = '/svc/simulation/v1/clock'

interface ClockOptions extends ConnectionOptions {
  readonly json?: boolean
}

interface AnsweredClock {
  readonly now: string
  readonly rate: number
}

/** Adds `./svc clock` with its commands. */
export function addClock(program: Command): void {
  const clock = program
    .command('clock')
    .description(
      'Show and control the simulated clock of a running cluster (requires svc.simulation.clock.enabled)',
    )
    .addHelpText(
      'after',
      `
Examples:
  ./svc up --detach --set svc.simulation.clock.enabled=true
  ./svc clock
  ./svc clock advance P30D
  ./svc clock set 2030-01-01
  ./svc clock rate 0`,
    )
  addMove(clock, 'show', 'Show the cluster time')
  addMove(clock, 'advance', 'Advance the clock by a period', {
    argument: '<period>',
    description: 'ISO 8601 period, for example P30D',
    change: (period) => ({ advance: period }),
  })
  addMove(clock, 'set', 'Advance the clock to a given time', {
    argument: '<time>',
    description: 'ISO 8601 time, which must be later than the current cluster time',
    change: (time) => ({ now: time }),
  })
  addMove(clock, 'rate', 'Set how fast time passes', {
    argument: '<rate>',
    description: 'Multiple of real time (0 stops the clock)',
    change: (text) => {
      const rate = Number(text)
      if (text.trim() === '' || !Number.isFinite(rate))
        throw invalidInput(`Invalid value [${text}] for [rate]: expected 0 or a positive number`)
      return { rate }
    },
  })
}

interface Move {
  readonly argument: string
  readonly description: string
  readonly change: (value: string) => object
}

function addMove(clock: Command, name: string, about: string, move?: Move): void {
  const command = withSvcConnection(clock.command(name, { isDefault: move === undefined }).description(about))
  if (move) command.argument(move.argument, move.description)
  command.option('--json', 'Print JSON').action(async (...given: unknown[]) => {
    const [value, options] = (move ? given : [undefined, ...given]) as [string, ClockOptions]
    const change = move?.change(value)
    const client = await connect(options)
    const answer = (await client.send(change ? 'POST' : 'GET', clockPath, change)) as AnsweredClock
    process.stdout.write(
      options.json ? `${JSON.stringify(answer)}\n` : `${answer.now} (${paceOf(answer.rate)})\n`,
    )
  })
}

function paceOf(rate: number): string {
  if (rate === 0) return 'stopped'
  return rate === 1 ? 'real time' : `${rate} times real time`
}
