import { loadSettings, requiresLogin } from '@svc/shared/config'
import { type Cluster, commonPropertiesFile, runtimePropertiesFile, unservedTiers } from '../cluster/index.ts'
import { secretFile } from '../home/index.ts'
import { sampleUsers } from '../ldap/index.ts'
import { trustStoreFile } from '../pki/index.ts'
import type { Summary } from './up-summary.ts'

/** The summary of a cluster that just started. */
export function summarize(cluster: Cluster): Summary {
  const notReady = new Set(cluster.notReady.map(({ instance }) => instance))
  return {
    home: cluster.home.root,
    profile: cluster.plan.options.profile,
    routerUrl: cluster.routerUrl,
    coordinatorUrl: cluster.urls.coordinator!,
    processes: cluster.processes().map(({ role, instance, url, process }) => ({
      role,
      instance,
      url,
      port: Number(new URL(url).port),
      pid: process?.pid ?? null,
      state: notReady.has(instance) ? 'not ready' : 'ready',
    })),
    notReady: cluster.notReady,
    unservedTiers: unservedTiers(cluster.home, cluster.plan),
    adminPasswordFile:
      cluster.adminPassword === undefined ? null : secretFile(cluster.home, 'admin-password'),
    certificateFile: cluster.trusted === undefined ? null : trustStoreFile(cluster.home.pki),
    certificate: cluster.trusted ?? null,
    requiresLogin: routerRequiresLogin(cluster),
    directoryUsers: cluster.plan.options.ldap ? sampleUsers : [],
  }
}

function routerRequiresLogin({ home, plan }: Cluster): boolean {
  const { instance } = plan.services.find(({ url }) => url === plan.routerUrl)!
  const files = [commonPropertiesFile(home), runtimePropertiesFile(home, instance)]
  return requiresLogin(loadSettings('router', files, process.env))
}
