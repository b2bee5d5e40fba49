import { useCaller } from './cluster/index.ts'
import { nameInAddress } from './location.ts'
import { hasCluster } from './session/index.ts'
import { visible } from './ui/index.ts'

/** A screen in the navigation. */
export interface ScreenLink {
  readonly path: string
  readonly label: string
}

/** The screens that the user may open, in the order of the navigation. */
export function useScreens(): readonly ScreenLink[] {
  const { data: caller } = useCaller()
  const canReadState = caller?.state.read === true
  const canReadData = caller?.anyDatasource.read === true
  return [
    { path: '/', label: 'Overview' },
    { path: '/datasources', label: 'Datasources' },
    ...(canReadState ? [{ path: '/tiers', label: 'Tiers' }] : []),
    ...(hasCluster() && canReadData ? [{ path: '/compaction', label: 'Compaction' }] : []),
    ...(hasCluster() && (canReadState || canReadData || caller?.anyDatasource.write)
      ? [{ path: '/runs', label: 'Runs' }]
      : []),
    ...(caller?.security.read && caller.storesRoles ? [{ path: '/access', label: 'Access' }] : []),
    ...(caller?.simulation && canReadState ? [{ path: '/faults', label: 'Faults' }] : []),
    ...(hasCluster() && canReadData ? [{ path: '/sql', label: 'SQL' }] : []),
  ]
}

/** Returns the title of the page: what is shown at an address. */
export function titleOf(location: string, screens: readonly ScreenLink[]): string {
  const [, first = '', second] = location.split('/')
  const name = first === 'datasources' && second !== undefined ? nameInAddress(second) : undefined
  const shown = name === undefined ? screens.find(({ path }) => path === `/${first}`)?.label : visible(name)
  return shown === undefined ? 'svc console' : `${shown} · svc console`
}
