import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { parseOptions, planCluster } from '@svc/cli/cluster'
import { type HomeLayout, homeLayout } from '@svc/cli/home'
import { payloadOf, segmentFromPayload, segmentId } from '@svc/domain/segment'
import { copySegments, type Database, loadSegmentRecords } from '@svc/shared/postgres'
import { waitUntil } from '@svc/shared/testing'
import { runTask } from '../support/flights.ts'
import { servedBy } from '../support/segments.ts'
import { sqlRows } from '../support/sql.ts'
import { startTestCluster, type TestCluster } from '../support/test-cluster.ts'
import { newTestFolder, removeTestFolder } from '../support/test-folder.ts'
import { addUsers } from '../support/test-users.ts'
import { openClocks } from './clocks.ts'
import { Link, type LinkState } from './links.ts'
import { ingestTask, users } from './requests.ts'
import { type Disk, dataSources, days, firstRowsPerDay, firstTask, tiers } from './schedule.ts'

/** A cluster with data in which connections, disks, and clocks can fail. */
export interface World {
  readonly cluster: TestCluster
  /** Faults that are not possible on this machine, and why. */
  readonly without: readonly string[]
  /** The folder with a historical's cached segments. */
  cacheOf(instance: string): string
  readonly deepStorage: string
  /** Sets the state of the link from an instance to another one, or to a store. */
  setLink(instance: string, to: string, state: LinkState): void
  /** Whether clocks can be moved on this machine. */
  readonly canMoveClocks: boolean
  /** Sets the offset of a server's clock from the real time; takes effect within a second. */
  moveClock(instance: string, byMs: number): void
  /** The folder on a separate disk; undefined if there is none. */
  diskOf(disk: Disk): string | undefined
  end(): Promise<void>
}

const options = {
  profile: 'secure',
  historicals: '_default_tier=2,hot=1',
  instances: 'coordinator=2,overlord=2,worker=1',
}
const settings = [
  'coordinator.svc.coordinator.period=PT0.5S',
  'svc.compaction.period=PT3S',
  'overlord.svc.worker.capacity=1',
  'worker.svc.worker.capacity=2',
  'svc.log.level=info',
]
const allDataSources = Object.values(dataSources).flat()
const smallDiskInstance = 'historical-1'
const diskSize = '24m'

const readerRights = [
  { resource: { type: 'DATASOURCE', name: dataSources.stable }, action: 'READ' },
  { resource: { type: 'STATE', name: 'STATE' }, action: 'READ' },
] as const

/** A stopped home with users and the first data; each run starts with a copy of it. */
export interface PreparedHome {
  readonly home: HomeLayout
  remove(): void
}

/** Creates such a home with a cluster without faults. */
export async function prepareHome(): Promise<PreparedHome> {
  const folder = newTestFolder()
  const home = homeLayout(path.join(folder, 'home'))
  const cluster = await startTestCluster({ ...options, set: settings, hasRealPasswords: true })
  try {
    await createData(cluster)
    await cluster.stop()
    copyFolder(cluster.home.root, home.root)
  } finally {
    await cluster.end()
  }
  return { home, remove: () => removeTestFolder(folder) }
}

/**
 * Copies a folder and keeps the owners of its files, which those of Postgres may need; does not overwrite
 * files in `to`.
 */
function copyFolder(from: string, to: string): void {
  mkdirSync(to, { recursive: true })
  execFileSync('cp', ['-a', `${from}/.`, to])
}

/**
 * Starts a cluster in a copy of a home, with links between processes, and with separate disks if possible.
 */
export async function startWorld(prepared: HomeLayout): Promise<World> {
  const folder = newTestFolder()
  const disks = mountDisks(folder)
  const clocks = openClocks(folder)
  const links = new Map<string, Link>()
  const closers: (() => unknown)[] = [
    () => disks.unmount(),
    () => clocks.close(),
    () => {
      for (const link of links.values()) link.close()
    },
  ]
  const end = async () => {
    for (const close of closers.toReversed()) await close()
    removeTestFolder(folder)
  }
  const environmentOf = (instance: string) => ({
    NODE_OPTIONS: `${process.env.NODE_OPTIONS ?? ''} --import ${new URL('preload.ts', import.meta.url).href}`,
    SVC_TEST_LINKS: linksFile(folder, instance),
    ...clocks.variablesOf(instance),
  })
  try {
    const { deepStorage: ownStorage, cache: ownCache } = disks.folders
    if (ownStorage !== undefined) copyFolder(prepared.deepStorage, ownStorage)
    if (ownCache !== undefined) copyFolder(path.join(prepared.cache, smallDiskInstance), ownCache)
    const cluster = await startTestCluster({
      ...options,
      set: [...settings, ...disks.settings],
      hasRealPasswords: true,
      placeHome: (home) => copyFolder(prepared.root, home),
      environment: (instance) => (isStore(instance) ? {} : environmentOf(instance)),
      beforeStart: (portOffset) => openLinks(folder, links, portOffset),
    })
    closers.push(() => cluster.end())
    const cacheOf = (instance: string): string =>
      path.join(disks.cacheOf(instance) ?? path.join(cluster.home.cache, instance), 'segments')
    await untilDataAreThere(cluster)
    return {
      cluster,
      without: [...disks.without, ...clocks.without],
      cacheOf,
      deepStorage: ownStorage ?? cluster.home.deepStorage,
      setLink: (instance, to, state) => {
        const link = links.get(linkName(instance, to))
        if (link) link.state = state
      },
      canMoveClocks: clocks.without.length === 0,
      moveClock: clocks.move,
      diskOf: (disk) => disks.folders[disk],
      end,
    }
  } catch (error) {
    await end()
    throw error
  }
}

/** Opens a link from each service to each other process, and writes their ports to files. */
async function openLinks(folder: string, links: Map<string, Link>, portOffset: number): Promise<void> {
  const surroundings = { home: homeLayout('.'), dataFolder: '' }
  const plan = planCluster(parseOptions({ ...options, portOffset }), surroundings)
  const targets = [
    ...plan.services.map(({ instance, tlsPort }) => [instance, tlsPort] as const),
    ['postgres', plan.postgresPort] as const,
    ['redis', plan.redisPort] as const,
  ]
  for (const { instance } of plan.services) {
    const ports: Record<number, number> = {}
    for (const [target, port] of targets) {
      if (target === instance) continue
      const link = await Link.open(port)
      links.get(linkName(instance, target))?.close()
      links.set(linkName(instance, target), link)
      ports[port] = link.port
    }
    writeFileSync(linksFile(folder, instance), JSON.stringify(ports))
  }
}

const isStore = (instance: string): boolean => instance === 'postgres' || instance === 'redis'

const linkName = (instance: string, to: string): string => `${instance} ${to}`

const linksFile = (folder: string, instance: string): string => path.join(folder, `${instance}.links.json`)

/** Small disks for deep storage and for one cache; only root can mount them. */
function mountDisks(folder: string) {
  const mounted: string[] = []
  const unmount = () => {
    process.removeListener('exit', unmount)
    for (const place of mounted.splice(0)) execFileSync('umount', ['--lazy', place])
  }
  // Also unmount if the run is interrupted.
  process.once('exit', unmount)
  const folders: Partial<Record<Disk, string>> = {}
  try {
    for (const disk of ['deepStorage', 'cache'] as const) {
      const place = path.join(folder, disk)
      mkdirSync(place)
      execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${diskSize},mode=700`, 'tmpfs', place], {
        stdio: 'pipe',
      })
      mounted.push(place)
      folders[disk] = place
    }
  } catch (error) {
    unmount()
    const why = (error as Error).message.trim().split('\n').at(-1)
    return {
      folders: {} as typeof folders,
      settings: [],
      cacheOf: () => undefined,
      unmount: () => undefined,
      without: [`fillDisk: ${why}`],
    }
  }
  const locations = JSON.stringify([{ path: folders.cache, maxSize: '10g' }])
  return {
    folders,
    settings: [
      `svc.storage.storageDirectory=${folders.deepStorage}`,
      `${smallDiskInstance}.svc.segmentCache.locations=${locations}`,
    ],
    cacheOf: (instance: string) => (instance === smallDiskInstance ? folders.cache : undefined),
    unmount,
    without: [],
  }
}

/**
 * Copies the rows of the stable datasource to others one segment at a time, which is faster than ingesting
 * them again.
 */
async function copyRows(store: Database, deepStorage: string, others: readonly string[]): Promise<void> {
  const records = await loadSegmentRecords(store, { dataSource: dataSources.stable })
  const copies = others.flatMap((dataSource) =>
    records.map(({ payload }) => {
      const file = path.join(dataSource, payload.loadSpec.path)
      mkdirSync(path.dirname(path.join(deepStorage, file)), { recursive: true })
      copyFileSync(path.join(deepStorage, payload.loadSpec.path), path.join(deepStorage, file))
      const original = { ...segmentFromPayload(payload), dataSource }
      const segment = { ...original, id: segmentId(original) }
      const stored = { ...payload, loadSpec: { ...payload.loadSpec, path: file } }
      return { segment, payload: payloadOf(segment, stored) }
    }),
  )
  await store.transaction((transaction) => copySegments(transaction, copies, firstTask, Date.now()))
}

/** Adds users and the first rows, and waits until everything is in place. */
async function createData(cluster: TestCluster): Promise<void> {
  const { router, home, store } = cluster
  const { stable } = dataSources
  const others = allDataSources.filter((dataSource) => dataSource !== stable)
  await router.post('/svc/coordinator/v1/rules/_default', [
    { type: 'loadForever', tieredReplicants: { hot: 0, _default_tier: 2 } },
  ])
  await router.post('/svc/coordinator/v1/config/compaction/taskslots?ratio=0.5&max=2', undefined)
  await Promise.all([
    addUsers(cluster, { [users.reader]: readerRights, [users.stranger]: [], [users.changing]: [] }),
    runTask(router, ingestTask(stable, firstTask, days, firstRowsPerDay, false)).then(() =>
      copyRows(store, home.deepStorage, others),
    ),
  ])
  await untilDataAreThere(cluster)
}

/** Waits until all servers have loaded the first rows and queries return them. */
async function untilDataAreThere(cluster: TestCluster): Promise<void> {
  await waitUntil(
    'all servers have loaded their segments',
    () => Promise.all(tiers._default_tier!.map((instance) => servedBy(cluster, instance))),
    (served) => served.every((ids) => ids.length === allDataSources.length * days.length),
  )
  await waitUntil(
    'queries return the first rows',
    () => sqlRows(cluster.router, `SELECT count(*) FROM ${dataSources.stable}`),
    ([row]) => row?.[0] === days.length * firstRowsPerDay,
  )
}
