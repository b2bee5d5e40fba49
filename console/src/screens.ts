import { useCaller } from './cluster/index.ts'
import { nameInAddress } from './location.ts'
import { hasCluster } from './session/index.ts'
import { visible } from './ui/index.ts'

/** A screen in the navigation. */
export interface ScreenLink {
  readonly path: string
  readonly label: string
}

// Snapshots have only these.
const screensOfSnapshots: readonly ScreenLink[] = [
  { path: '/', label: 'Overview' },
  { path: '/datasources', label: 'Datasources' },
  { path: '/tiers', label: 'Tiers' },
]

const screensOfClusters: readonly ScreenLink[] = [
  ...screensOfSnapshots,
  { path: '/compaction', label: 'Compaction' },
  { path: '/runs', label: 'Runs' },
  { path: '/access', label: 'Access' },
  { path: '/faults', label: 'Faults' },
  { path: '/sql', label: 'SQL' },
]

const allScreens = (): readonly ScreenLink[] => (hasCluster() ? screensOfClusters : screensOfSnapshots)

/** The screens that the user may open, in the order of the navigation. */
export function useScreens(): readonly ScreenLink[] {
  const { data: caller } = useCaller()
  const canReadState = caller?.state.read === true
  const canReadData = caller?.anyDatasource.read === true
  const canWriteData = caller?.anyDatasource.write === true
  const isOffered: Readonly<Record<string, boolean>> = {
    '/': true,
    '/datasources': true,
    '/tiers': canReadState,
    '/compaction': canReadData,
    '/runs': canReadState || canReadData || canWriteData,
    '/access': caller?.security.read === true && caller.storesRoles,
    '/faults': caller?.simulation === true && canReadState,
    '/sql': canReadData,
  }
  return allScreens().filter(({ path }) => isOffered[path])
}

/** Returns the title of the page: what is shown at an address. */
export function titleOf(location: string): string {
  const [, first = '', second = ''] = location.split('/')
  const name = first === 'datasources' && second !== '' ? nameInAddress(second) : undefined
  const screen = allScreens().find(({ path }) => path === `/${first}`)?.label ?? 'Page not found'
  return `${name === undefined ? screen : visible(name)} · svc console`
}
