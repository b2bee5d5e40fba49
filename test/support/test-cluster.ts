import { readFileSync } from 'node:fs'
import path from 'node:path'
import {
  type Cluster,
  commonPropertiesFile,
  type FreePortsOptions,
  runtimePropertiesFile,
  startAtFreePorts,
} from '@svc/cli/cluster'
import { logFile } from '@svc/cli/home'
import { serverNameAt } from '@svc/domain/calls'
import { loadSettings, type Settings } from '@svc/shared/config'
import { createDatabase, type Database } from '@svc/shared/postgres'
import { createHttpClient, type HttpClient } from '@svc/shared/testing'
import { checkAnswer } from './check-answer.ts'
import { endWithTest } from './end-with-test.ts'
import { placePreparedHome, storeCertificates } from './prepared-home.ts'
import { newTestFolder, removeTestFolder } from './test-folder.ts'

/** A cluster for a test in a home of its own, with clients. */
export interface TestCluster extends Cluster {
  /** The router as admin; throws if an answer does not match the OpenAPI document. */
  readonly router: HttpClient
  /** A server by its instance, as admin. */
  at(instance: string): HttpClient
  /** The metadata store. */
  readonly store: Database
  /** The configuration of the first coordinator, for tests that connect to its stores themselves. */
  readonly settings: Settings
  /** Host and port of an instance, as other servers call it. */
  nameOf(instance: string): string
  /** The complete output of an instance. */
  logOf(instance: string): string
  /** Stops everything and deletes the home. */
  end(): Promise<void>
}

/** Options of a test cluster. */
export interface TestClusterOptions extends Omit<FreePortsOptions, 'home'> {
  /** Called once with the path of the home before it exists, so that an existing home can be copied there. */
  readonly placeHome?: (home: string) => void
  /**
   * Whether its services hash passwords as in production. Otherwise, that takes little work, but no other cluster or
   * process accepts these passwords.
   */
  readonly hasRealPasswords?: boolean
}

/** Starts a cluster on free ports. Throws, and leaves nothing behind, if a service is not ready in time. */
export async function startTestCluster({
  placeHome = placePreparedHome,
  hasRealPasswords = false,
  ...given
}: TestClusterOptions = {}): Promise<TestCluster> {
  const folder = newTestFolder()
  const home = path.join(folder, 'home')
  const options = hasRealPasswords ? given : withCheapPasswords(given)
  let cluster: Cluster | undefined
  const stopWatching = endWithTest(home, folder)
  const remove = (): void => {
    stopWatching()
    removeTestFolder(folder)
  }
  try {
    placeHome(home)
    cluster = await startAtFreePorts({ ...options, home })
    if (cluster.notReady.length > 0 && options.readyTimeoutMs === undefined) {
      throw new Error(`Not ready: ${JSON.stringify(cluster.notReady)}`)
    }
    storeCertificates(cluster.home)
    return describeCluster(cluster, remove)
  } catch (error) {
    await cluster?.stop()
    remove()
    throw error
  }
}

const cheapPasswords = path.join(import.meta.dirname, 'cheap-passwords.cjs')

function withCheapPasswords(options: TestClusterOptions): TestClusterOptions {
  const nodeOptions = `${process.env.NODE_OPTIONS ?? ''} --require ${JSON.stringify(cheapPasswords)}`
  const environment = (instance: string) => ({
    NODE_OPTIONS: nodeOptions,
    ...options.environment?.(instance),
  })
  return { ...options, environment }
}

function describeCluster(cluster: Cluster, remove: () => void): TestCluster {
  const { trusted, adminPassword, urls, home } = cluster
  const credentials = adminPassword === undefined ? undefined : `admin:${adminPassword}`
  const clients = new Map<string, HttpClient>()
  const at = (instance: string): HttpClient => {
    const url = urls[instance]
    if (url === undefined)
      throw new Error(`Unknown instance ${instance}; expected one of ${Object.keys(urls)}`)
    const client =
      clients.get(instance) ??
      createHttpClient(url, {
        trusted,
        credentials,
        ...(instance === 'router' ? { onAnswer: checkAnswer } : {}),
      })
    clients.set(instance, client)
    return client
  }
  const files = [commonPropertiesFile(home), runtimePropertiesFile(home, 'coordinator')]
  const settings = loadSettings('coordinator', files, process.env)
  const store = createDatabase(settings, { connections: 2, applicationName: 'test' })
  return {
    ...cluster,
    router: at('router'),
    at,
    store,
    settings,
    nameOf: (instance) => serverNameAt(urls[instance]!)!,
    logOf: (instance) => readFileSync(logFile(home, instance), 'utf8'),
    end: async () => {
      for (const client of clients.values()) client.close()
      await store.close().catch(() => undefined)
      await cluster.stop()
      remove()
    },
  }
}
