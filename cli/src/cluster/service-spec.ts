import path from 'node:path'
import { type HomeLayout, logFile, repositoryRoot } from '../home/index.ts'
import type { ProcessSpec } from '../supervisor/index.ts'
import type { ServicePlan } from './plan-cluster.ts'
import { commonPropertiesFile, runtimePropertiesFile } from './write-configuration.ts'

/** How the process of a service is run; with `watch` it starts again when its source changes. */
export function serviceSpec(
  home: HomeLayout,
  { role, instance }: Pick<ServicePlan, 'role' | 'instance'>,
  watch = false,
): ProcessSpec {
  const main = path.join(repositoryRoot, 'services', role, 'src/main.ts')
  const files = ['--common', commonPropertiesFile(home), '--runtime', runtimePropertiesFile(home, instance)]
  return {
    instance,
    program: 'node',
    file: process.execPath,
    // A small young generation: these servers hold little that is short-lived, and there are many of them. One thread
    // is done with it before several have divided it among themselves.
    args: [
      ...(watch ? ['--watch', '--watch-preserve-output'] : []),
      '--max-semi-space-size=2',
      '--no-parallel-scavenge',
      main,
      ...files,
    ],
    cwd: home.root,
    logFile: logFile(home, instance),
    stopSignal: 'SIGTERM',
  }
}
