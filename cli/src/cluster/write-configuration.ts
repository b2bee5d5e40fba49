import { mkdirSync, readdirSync, rmSync } from 'node:fs'
import path from 'node:path'
import { type HomeLayout, writeWhole } from '../home/index.ts'
import type { ClusterPlan, ServicePlan } from './plan-cluster.ts'
import { propertiesText } from './properties-text.ts'

/** The file of properties that all services of a home read first. */
export function commonPropertiesFile(home: HomeLayout): string {
  return path.join(home.conf, 'common.runtime.properties')
}

/** The file of properties of one instance. */
export function runtimePropertiesFile(home: HomeLayout, instance: string): string {
  return path.join(home.conf, instance, 'runtime.properties')
}

/** Writes the configuration of one instance. */
export function writeInstanceConfiguration(
  home: HomeLayout,
  { instance, properties }: Pick<ServicePlan, 'instance' | 'properties'>,
): void {
  mkdirSync(path.join(home.conf, instance), { recursive: true, mode: 0o700 })
  // The owner only: a property that a user has set may be a password.
  writeWhole(runtimePropertiesFile(home, instance), propertiesText(properties), 0o600)
}

/** Writes the configuration of every service; that of instances which are no longer planned goes. */
export function writeConfiguration(home: HomeLayout, plan: ClusterPlan): void {
  // As those of single instances: it may hold passwords.
  writeWhole(commonPropertiesFile(home), propertiesText(plan.common), 0o600)
  for (const service of plan.services) writeInstanceConfiguration(home, service)
  const planned = new Set(plan.services.map(({ instance }) => instance))
  for (const entry of readdirSync(home.conf, { withFileTypes: true })) {
    if (entry.isDirectory() && !planned.has(entry.name))
      rmSync(path.join(home.conf, entry.name), { recursive: true })
  }
}
