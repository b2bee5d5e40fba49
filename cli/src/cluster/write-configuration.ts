import { mkdirSync, readdirSync, rmSync } from 'node:fs'
import path from 'node:path'
import { type HomeLayout, writeAtomically } from '../home/index.ts'
import type { ClusterPlan, ServicePlan } from './plan-cluster.ts'
import { propertiesText } from './properties-text.ts'

/** The properties file that all services of a home share. */
export function commonPropertiesFile(home: HomeLayout): string {
  return path.join(home.conf, 'common.runtime.properties')
}

/** The properties file of one instance. */
export function runtimePropertiesFile(home: HomeLayout, instance: string): string {
  return path.join(home.conf, instance, 'runtime.properties')
}

/** Writes the configuration of one instance. */
export function writeInstanceConfiguration(
  home: HomeLayout,
  { instance, properties }: Pick<ServicePlan, 'instance' | 'properties'>,
): void {
  mkdirSync(path.join(home.conf, instance), { recursive: true, mode: 0o700 })
  // Readable only by the owner: a property set by the user may be a password.
  writeAtomically(runtimePropertiesFile(home, instance), propertiesText(properties), 0o600)
}

/** Writes the configuration of every service, and deletes that of instances that are no longer planned. */
export function writeConfiguration(home: HomeLayout, plan: ClusterPlan): void {
  // Like those of single instances, it may contain passwords.
  writeAtomically(commonPropertiesFile(home), propertiesText(plan.common), 0o600)
  for (const service of plan.services) writeInstanceConfiguration(home, service)
  const planned = new Set(plan.services.map(({ instance }) => instance))
  for (const entry of readdirSync(home.conf, { withFileTypes: true })) {
    if (entry.isDirectory() && !planned.has(entry.name))
      rmSync(path.join(home.conf, entry.name), { recursive: true })
  }
}
