import type { Command } from 'commander'
import { exitStatus } from '../exit/index.ts'
import { existingHome, withHome } from '../options/index.ts'
import { printJson } from '../output/index.ts'

/** Adds `./svc status`. */
export function addStatus(program: Command): void {
  const command = program
    .command('status')
    .description(
      'Show the state of each process, any problems (exit status 1 if there are any), and what the cluster is doing',
    )
  withHome(command)
    .option('--json', 'Print JSON')
    .action(async (options: { home?: string; json?: boolean }) => {
      const home = existingHome(options.home)
      const { clusterStatus, clusterWork } = await import('../cluster/index.ts')
      const status = await clusterStatus(home)
      const work = status.isRunning ? await clusterWork(home, status.processes) : []
      if (options.json) {
        printJson({ ...status, work })
      } else {
        const [{ formatTable }, { describeFault }] = await Promise.all([
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
          [problem?.split('\n').at(-1)?.trim() ?? '', ...faults.map(describeFault)]
            .filter((text) => text !== '')
            .join('; '),
        ])
        process.stdout.write(`${formatTable(['role', 'instance', 'URL', 'pid', 'state', 'problem'], rows)}\n`)
        // Virtual servers have no process.
        const listed = new Set(processes.flatMap(({ faults }) => faults))
        for (const fault of status.faults)
          if (!listed.has(fault)) process.stdout.write(`${fault.target}: ${describeFault(fault)}\n`)
        if (work.length > 0) process.stdout.write(`\n${work.map((text) => `${text}.`).join('\n')}\n`)
        if (status.problem) process.stdout.write(`${status.problem}\n`)
      }
      process.exitCode = status.isReady ? exitStatus.done : exitStatus.failed
    })
}
