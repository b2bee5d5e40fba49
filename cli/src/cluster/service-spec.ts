import { bundleOf, sourceOf } from '../bundles/index.ts'
import { type HomeLayout, logFile } from '../home/index.ts'
import type { ProcessSpec } from '../supervisor/index.ts'
import type { ServicePlan } from './plan-cluster.ts'
import { commonPropertiesFile, runtimePropertiesFile } from './write-configuration.ts'

/** How to run the process of a service; with `watch`, it runs its source, and restarts when that changes. */
export function serviceSpec(
  home: HomeLayout,
  { role, instance }: Pick<ServicePlan, 'role' | 'instance'>,
  watch = false,
): ProcessSpec {
  const files = ['--common', commonPropertiesFile(home), '--runtime', runtimePropertiesFile(home, instance)]
  return {
    instance,
    program: 'node',
    file: process.execPath,
    // The young generation grows while a server works, and shrinks again when it is idle (collectIdleGarbage). If it were
    // small, objects of large requests would outlive it, and be collected later with more work. One thread collects it
    // faster than several threads could divide the work.
    args: [
      ...(watch ? ['--watch', '--watch-preserve-output'] : []),
      '--max-semi-space-size=16',
      '--no-parallel-scavenge',
      watch ? sourceOf(role) : bundleOf(role),
      ...files,
    ],
    cwd: home.root,
    logFile: logFile(home, instance),
    stopSignal: 'SIGTERM',
  }
}
