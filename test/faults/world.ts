import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { parseOptions, planCluster } from '@svc/cli/cluster'
import { homeLayout } from '@svc/cli/home'
import { payloadOf, segmentFromPayload, segmentId } from '@svc/domain/segment'
import { copySegments, type Database, loadSegmentRecords } from '@svc/shared/postgres'
import { runTask } from '../support/flights.ts'
import { sqlRows } from '../support/sql.ts'
import { startTestCluster, type TestCluster } from '../support/test-cluster.ts'
import { newTestFolder, removeTestFolder } from '../support/test-folder.ts'
import { addUsers } from '../support/test-users.ts'
import { waitUntil } from '../support/wait-until.ts'
import { Link, type LinkState } from './links.ts'
import { type Disk, dataSources, days, firstRowsPerDay, firstTask } from './schedule.ts'

/** A cluster with data, whose connections, disks and clocks can be spoilt. */
export interface World {
  readonly cluster: TestCluster
  /** Faults that cannot be made here, and why. */
  readonly without: readonly string[]
  /** The folder that holds the segments in the cache of a historical. */
  cacheOf(instance: string): string
  readonly deepStorage: string
  /** Sets how the way from an instance to another one, or to a store, is. */
  setLink(instance: string, to: string, state: LinkState): void
  /** Sets how far the clock of an instance is from the true one. */
  setClock(instance: string, byMs: number): void
  /** The folder of a disk of its own; undefined where there is none. */
  diskOf(disk: Disk): string | undefined
  end(): Promise<void>
}

const options = {
  profile: 'secure',
  historicals: '_default_tier=2,hot=1',
  instances: 'coordinator=2,overlord=2',
}
const settings = [
  'coordinator.svc.coordinator.period=PT0.5S',
  'svc.compaction.period=PT3S',
  'overlord.svc.worker.capacity=2',
  'svc.log.level=info',
]
const smallDiskInstance = 'historical-1'
const diskSize = '24m'

/** The user whose right is granted and revoked, the one who may read the stable datasource, and one with no rights. */
export const users = { changing: 'changing', reader: 'reader', stranger: 'stranger' } as const
const readStable = [{ resource: { type: 'DATASOURCE', name: dataSources.stable }, action: 'READ' }] as const

/** Starts a cluster through links, with disks of their own where they can be had, and brings in the first data. */
export async function startWorld(): Promise<World> {
  const folder = newTestFolder()
  const disks = mountDisks(folder)
  const links = new Map<string, Link>()
  const closers: (() => unknown)[] = [
    () => disks.unmount(),
    () => {
      for (const link of links.values()) link.close()
    },
  ]
  const end = async () => {
    for (const close of closers.toReversed()) await close()
    removeTestFolder(folder)
  }
  const before = { options: process.env.NODE_OPTIONS, folder: process.env.SVC_TEST_FAULTS }
  process.env.NODE_OPTIONS = `${before.options ?? ''} --import ${new URL('preload.ts', import.meta.url).href}`
  process.env.SVC_TEST_FAULTS = folder
  closers.push(() => {
    restoreVariable('NODE_OPTIONS', before.options)
    restoreVariable('SVC_TEST_FAULTS', before.folder)
  })
  try {
    const set = [...settings, ...disks.settings]
    const cluster = await startTestCluster({
      ...options,
      set,
      beforeStart: async (portOffset) => {
        const plan = planCluster(parseOptions({ ...options, portOffset }), {
          home: homeLayout('.'),
          dataFolder: '',
        })
        const targets = [
          ...plan.services.map(({ instance, tlsPort }) => [instance, tlsPort] as const),
          ['postgres', plan.postgresPort] as const,
          ['redis', plan.redisPort] as const,
        ]
        const ports: Record<string, Record<number, number>> = {}
        for (const { instance } of plan.services) {
          ports[instance] = {}
          for (const [target, port] of targets) {
            if (target === instance) continue
            const link = await Link.open(port)
            links.get(linkName(instance, target))?.close()
            links.set(linkName(instance, target), link)
            ports[instance][port] = link.port
          }
        }
        writeFileSync(path.join(folder, 'links.json'), JSON.stringify(ports))
      },
    })
    closers.push(() => cluster.end())
    const cacheOf = (instance: string): string =>
      path.join(disks.cacheOf(instance) ?? path.join(cluster.home.cache, instance), 'segments')
    const deepStorage = disks.folders.deepStorage ?? cluster.home.deepStorage
    await bringData(cluster, cacheOf, deepStorage)
    return {
      cluster,
      without: disks.without,
      cacheOf,
      deepStorage,
      setLink: (instance, to, state) => {
        const link = links.get(linkName(instance, to))
        if (link) link.state = state
      },
      setClock: (instance, byMs) => {
        const file = path.join(folder, `${instance}.clock`)
        if (byMs === 0) rmSync(file, { force: true })
        else writeFileSync(file, String(byMs))
      },
      diskOf: (disk) => disks.folders[disk],
      end,
    }
  } catch (error) {
    await end()
    throw error
  }
}

const linkName = (instance: string, to: string): string => `${instance} ${to}`

function restoreVariable(name: string, value: string | undefined): void {
  if (value === undefined) delete process.env[name]
  else process.env[name] = value
}

/** Small disks for deep storage and for one cache; only root may mount them. */
function mountDisks(folder: string) {
  const mounted: string[] = []
  const unmount = () => {
    for (const place of mounted.splice(0)) execFileSync('umount', ['--lazy', place])
  }
  // A run that is interrupted leaves no disk behind either.
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

/** The task that writes rows of some days, each with the name of the task. */
export function ingestTask(
  dataSource: string,
  task: string,
  ofDays: readonly string[],
  rowsPerDay: number,
  append: boolean,
): object {
  const rows = ofDays.flatMap((day) =>
    Array.from({ length: rowsPerDay }, (_, n) => JSON.stringify({ t: `${day}T12:00:00Z`, task, n })),
  )
  return {
    type: 'index_parallel',
    id: task,
    spec: {
      dataSchema: {
        dataSource,
        timestampSpec: { column: 't' },
        dimensionsSpec: { dimensions: ['task', { type: 'long', name: 'n' }] },
        granularitySpec: { segmentGranularity: 'DAY', rollup: false },
      },
      ioConfig: {
        type: 'index_parallel',
        inputSource: { type: 'inline', data: rows.join('\n') },
        inputFormat: { type: 'json' },
        appendToExisting: append,
      },
    },
  }
}

/** Gives the rows of the stable datasource to others too, each file by itself: quicker than to ingest them again. */
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

/** Brings in users and the first rows, and waits until all of it is there. */
async function bringData(
  cluster: TestCluster,
  cacheOf: (instance: string) => string,
  deepStorage: string,
): Promise<void> {
  const { router } = cluster
  const { stable } = dataSources
  const all = [...Object.values(dataSources)].flat()
  await router.post('/svc/coordinator/v1/rules/_default', [
    { type: 'loadForever', tieredReplicants: { hot: 0, _default_tier: 2 } },
  ])
  await router.post('/svc/coordinator/v1/config/compaction/taskslots?ratio=0.5&max=2', undefined)
  await Promise.all([
    addUsers(cluster, { [users.reader]: readStable, [users.stranger]: [], [users.changing]: [] }),
    runTask(router, ingestTask(stable, firstTask, days, firstRowsPerDay, false)).then(() =>
      copyRows(
        cluster.store,
        deepStorage,
        all.filter((dataSource) => dataSource !== stable),
      ),
    ),
  ])
  const folders = ['historical-1', 'historical-2'].map(cacheOf)
  await waitUntil(
    'everything is loaded',
    () => folders.map((folder) => readdirSync(folder).length),
    (counts) => counts.every((count) => count === all.length * days.length),
  )
  await waitUntil(
    'queries are answered',
    () => sqlRows(router, `SELECT count(*) FROM ${stable}`),
    ([row]) => row?.[0] === days.length * firstRowsPerDay,
  )
}
