import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, openSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'

/** Something like a machine: a network of its own with one cable, and names that lead to addresses. */
export interface Machine {
  readonly address: string
  /** Command line that runs a program there. */
  readonly launch: readonly string[]
  /** Starts a program there; what it prints goes into a file. */
  start(file: string, args: readonly string[], log: string): ChildProcess
  /** Pulls the cable, or plugs it in. */
  connect(isConnected: boolean): void
}

/** Several machines at one switch, to which this process belongs too. */
export interface Machines {
  /** The address of this process there. */
  readonly address: string
  readonly machines: readonly Machine[]
  /** Tells all machines which names lead where. */
  name(addressOf: Readonly<Record<string, string>>): void
  /** Ends what was started there, and takes everything down. */
  stop(): Promise<void>
}

const ip = (...args: readonly string[]): void => {
  execFileSync('ip', args, { stdio: ['ignore', 'ignore', 'pipe'] })
}

/** Why no machines can be made here; undefined where they can. That takes root and network namespaces. */
export function machinesProblem(): string | undefined {
  const name = `svc-try-${process.pid}`
  try {
    ip('netns', 'add', name)
    ip('netns', 'delete', name)
    ip('link', 'add', name.slice(0, 15), 'type', 'bridge')
    ip('link', 'delete', name.slice(0, 15))
    return undefined
  } catch (error) {
    return `this system makes no networks for a test: ${(error as Error).message.trim().split('\n').at(-1)}`
  }
}

/** Makes `count` machines. */
export function makeMachines(count: number): Machines {
  // Out of the range for tests of networks (RFC 2544), which nobody uses.
  const net = `198.18.${process.pid % 250}`
  const running = new Set<ChildProcess>()
  const names: string[] = []
  // The switch has a network of its own too: what this system's firewall forwards is not its concern.
  const hub = `svc-${process.pid}-switch`
  const ownCable = `svcv${process.pid}`
  ip('netns', 'add', hub)
  ip('-netns', hub, 'link', 'add', 'switch', 'type', 'bridge')
  ip('-netns', hub, 'link', 'set', 'switch', 'up')
  const plugIn = (cable: string): void => ip('-netns', hub, 'link', 'set', cable, 'master', 'switch', 'up')
  ip('link', 'add', ownCable, 'type', 'veth', 'peer', 'name', 'own', 'netns', hub)
  plugIn('own')
  ip('address', 'add', `${net}.1/24`, 'dev', ownCable)
  ip('link', 'set', ownCable, 'up')
  const machines = Array.from({ length: count }, (_, index): Machine => {
    const name = `svc-${process.pid}-${index}`
    const cable = `machine${index}`
    const address = `${net}.${index + 2}`
    ip('netns', 'add', name)
    names.push(name)
    ip('-netns', hub, 'link', 'add', cable, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', name)
    plugIn(cable)
    ip('-netns', name, 'address', 'add', `${address}/24`, 'dev', 'eth0')
    ip('-netns', name, 'link', 'set', 'lo', 'up')
    ip('-netns', name, 'link', 'set', 'eth0', 'up')
    const launch = ['ip', 'netns', 'exec', name]
    return {
      address,
      launch,
      start: (file, args, log) => {
        const out = openSync(log, 'a')
        const child = spawn(launch[0]!, [...launch.slice(1), file, ...args], {
          cwd: path.dirname(log),
          stdio: ['ignore', out, out],
        })
        running.add(child)
        child.once('exit', () => running.delete(child))
        return child
      },
      connect: (isConnected) => ip('-netns', hub, 'link', 'set', cable, isConnected ? 'up' : 'down'),
    }
  })
  const takeDown = (): void => {
    for (const child of running) child.kill('SIGKILL')
    for (const name of names) {
      ip('netns', 'delete', name)
      rmSync(`/etc/netns/${name}`, { recursive: true, force: true })
    }
    ip('netns', 'delete', hub)
  }
  // Also when the test is told to end.
  process.once('exit', takeDown)
  return {
    address: `${net}.1`,
    machines,
    name: (addressOf) => {
      const lines = Object.entries(addressOf).map(([name, address]) => `${address} ${name}`)
      for (const name of names) {
        // `ip netns exec` shows these files in the place of those in /etc.
        mkdirSync(`/etc/netns/${name}`, { recursive: true })
        writeFileSync(`/etc/netns/${name}/hosts`, `127.0.0.1 localhost\n${lines.join('\n')}\n`)
      }
    },
    stop: async () => {
      await Promise.all(
        [...running].map(async (child) => {
          const ended = once(child, 'exit')
          child.kill('SIGKILL')
          await ended
        }),
      )
      process.removeListener('exit', takeDown)
      takeDown()
    },
  }
}
