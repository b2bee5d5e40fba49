import type { Command } from 'commander'
import { existingHome, withHome } from './home-option.ts'
import { printJson } from './print.ts'

/** Adds `./svc status`. */
export function addStatus(program: Command): void {
  const command = program
    .command('status')
    .description('show what runs, whether it is ready, and what is wrong (exit status 1 when anything is)')
  withHome(command)
    .option('--json', 'print it as JSON')
    .action(async (options: { home?: string; json?: boolean }) => {
      const home = existingHome(options.home)
      const { clusterStatus } = await import('../cluster/index.ts')
      const status = await clusterStatus(home)
      if (options.json) {
        printJson(status)
      } else {
        const [{ formatTable }, { tellFault }] = await Promise.all([
          import('../terminal/index.ts'),
          import('../faults/index.ts'),
        ])
        const { processes } = status
        const rows = processes.map(({ role, instance, url, pid, state, restarts, problem, faults }) => [
          role,
          instance,
          url,
          String(pid ?? ''),
          restarts > 0 ? `${state} (restarts: ${restarts})` : state,
          [problem?.split('\n').at(-1)?.trim() ?? '', ...faults.map(tellFault)]
            .filter((text) => text !== '')
            .join('; '),
        ])
        process.stdout.write(`${formatTable(['role', 'instance', 'URL', 'pid', 'state', 'problem'], rows)}\n`)
        // Virtual servers are no processes.
        const told = new Set(processes.flatMap(({ faults }) => faults))
        for (const fault of status.faults)
          if (!told.has(fault)) process.stdout.write(`${fault.target}: ${tellFault(fault)}\n`)
        if (status.problem) process.stdout.write(`${status.problem}\n`)
      }
      process.exitCode = status.isReady ? 0 : 1
    })
}
