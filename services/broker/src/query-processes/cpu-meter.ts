import { readFileSync } from 'node:fs'

// Linux reports CPU time in ticks of 10 ms.
const tickMs = 10

/**
 * Returns a function that returns the CPU time in milliseconds that a process has used since this call. It returns
 * undefined if the process has ended or if the system has no /proc.
 */
export function startCpuMeter(pid: number | undefined): () => number | undefined {
  const startMs = cpuMsOf(pid)
  return () => {
    const cpuMs = cpuMsOf(pid)
    return startMs === undefined || cpuMs === undefined ? undefined : cpuMs - startMs
  }
}

function cpuMsOf(pid: number | undefined): number | undefined {
  try {
    // The second field is the name of the program in parentheses, which may contain spaces.
    const [, fields = ''] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')
    const [userTicks, systemTicks] = fields.split(' ').slice(11)
    return (Number(userTicks) + Number(systemTicks)) * tickMs
  } catch {
    return undefined
  }
}
