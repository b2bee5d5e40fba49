import { useCaller } from './cluster/index.ts'
import { nameInAddress } from './location.ts'
import { hasCluster } from './session/index.ts'
import { visible } from './ui/index.ts'

/** A screen in the navigation. */
export interface ScreenLink {
  readonly path: string
  readonly label: string
}

const allScreens: readonly ScreenLink[] = [
  { path: '/', label: 'Overview' },
  { path: '/datasources', label: 'Datasources' },
  { path: '/tiers', label: 'Tiers' },
  { path: '/compaction', label: 'Compaction' },
  { path: '/runs', label: 'Runs' },
  { path: '/access', label: 'Access' },
  { path: '/faults', label: 'Faults' },
  { path: '/sql', label: 'SQL' },
]

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
    '/compaction': hasCluster() && canReadData,
    '/runs': hasCluster() && (canReadState || canReadData || canWriteData),
    '/access': caller?.security.read === true && caller.storesRoles,
    '/faults': caller?.simulation === true && canReadState,
    '/sql': hasCluster() && canReadData,
  }
  return allScreens.filter(({ path }) => isOffered[path])
}

// Snapshots have only these.
const screensOfSnapshots = ['/', '/datasources', '/tiers']

/** Returns the title of the page: what is shown at an address. */
export function titleOf(location: string): string {
  const [, first = '', second = ''] = location.split('/')
  const name = first === 'datasources' && second !== '' ? nameInAddress(second) : undefined
  const known = allScreens.filter(({ path }) => hasCluster() || screensOfSnapshots.includes(path))
  const screen = known.find(({ path }) => path === `/${first}`)?.label ?? 'Page not found'
  return `${name === undefined ? screen : visible(name)} · svc console`
}
