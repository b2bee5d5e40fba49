import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, openSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'

/** A simulated machine: a network of its own with one cable, and names that resolve to addresses. */
export interface Machine {
  readonly address: string
  /** Command line that runs a program on it. */
  readonly launch: readonly string[]
  /** Starts a program on it; the output goes to a file. */
  start(file: string, args: readonly string[], log: string): ChildProcess
  /** Unplugs or plugs in the network cable. */
  connect(isConnected: boolean): void
}

/** Several machines on one switch, to which this process is also connected. */
export interface Machines {
  /** The address of this process on that network. */
  readonly address: string
  readonly machines: readonly Machine[]
  /** Sets the hostnames that all machines resolve. */
  name(addressOf: Readonly<Record<string, string>>): void
  /** Stops everything that was started, and removes the networks. */
  stop(): Promise<void>
}

const ip = (...args: readonly string[]): void => {
  execFileSync('ip', args, { stdio: ['ignore', 'ignore', 'pipe'] })
}

/** Why machines cannot be created; undefined if they can. They require root and network namespaces. */
export function machinesProblem(): string | undefined {
  const name = `svc-try-${process.pid}`
  try {
    ip('netns', 'add', name)
    ip('netns', 'delete', name)
    ip('link', 'add', name.slice(0, 15), 'type', 'bridge')
    ip('link', 'delete', name.slice(0, 15))
    return undefined
  } catch (error) {
    return `this system cannot create networks for a test: ${(error as Error).message.trim().split('\n').at(-1)}`
  }
}

/** Creates `count` machines. */
export function createMachines(count: number): Machines {
  // From the address range for network tests (RFC 2544), which nobody else uses.
  const net = `198.18.${process.pid % 250}`
  const running = new Set<ChildProcess>()
  const names: string[] = []
  // The switch also has its own network, so that the firewall of this system does not filter its traffic.
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
        const child = startLogged([...launch, file, ...args], log)
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
  // Also if the test is terminated.
  process.once('exit', takeDown)
  return {
    address: `${net}.1`,
    machines,
    name: (addressOf) => {
      const lines = Object.entries(addressOf).map(([name, address]) => `${address} ${name}`)
      for (const name of names) {
        // `ip netns exec` shows these files instead of those in /etc.
        mkdirSync(`/etc/netns/${name}`, { recursive: true })
        writeFileSync(`/etc/netns/${name}/hosts`, `127.0.0.1 localhost\n${lines.join('\n')}\n`)
      }
    },
    stop: async () => {
      await Promise.all([...running].map(endProcess))
      process.removeListener('exit', takeDown)
      takeDown()
    },
  }
}

/** Starts a command line whose output goes to a file. */
function startLogged([program, ...args]: readonly string[], log: string): ChildProcess {
  const out = openSync(log, 'a')
  return spawn(program!, args, { cwd: path.dirname(log), stdio: ['ignore', out, out] })
}

async function endProcess(child: ChildProcess): Promise<void> {
  const ended = once(child, 'exit')
  child.kill('SIGKILL')
  await ended
}
