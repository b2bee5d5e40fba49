import { lazy, Suspense, useEffect } from 'react'
import { Link, Redirect, Route, Router, Switch, useLocation } from 'wouter'
import { useCaller, useConnection, useInventory, useLiveUpdates } from './cluster/index.ts'
import { useScreenInHash } from './location.ts'
import { RefusalBar } from './refusal-bar.tsx'
import { endSession, hasCluster, RequestFailure, useSession } from './session/index.ts'
import { SnapshotLabel } from './snapshot/index.ts'
import { formatMinute, ThemeSwitch } from './ui/index.ts'

const OverviewScreen = lazy(() =>
  import('./overview/index.ts').then((room) => ({ default: room.OverviewScreen })),
)
const DatasourceList = lazy(() =>
  import('./datasource/index.ts').then((room) => ({ default: room.DatasourceList })),
)
const DatasourceScreen = lazy(() =>
  import('./datasource/index.ts').then((room) => ({ default: room.DatasourceScreen })),
)
const CompactionScreen = lazy(() =>
  import('./compaction/index.ts').then((room) => ({ default: room.CompactionScreen })),
)
const AccessScreen = lazy(() => import('./access/index.ts').then((room) => ({ default: room.AccessScreen })))
const FaultsScreen = lazy(() => import('./faults/index.ts').then((room) => ({ default: room.FaultsScreen })))
const RunsScreen = lazy(() => import('./runs/index.ts').then((room) => ({ default: room.RunsScreen })))
const SqlScreen = lazy(() => import('./sql/index.ts').then((room) => ({ default: room.SqlScreen })))
const TiersScreen = lazy(() => import('./tiers/index.ts').then((room) => ({ default: room.TiersScreen })))

/** The console after the login: navigation and the current screen. */
export function App() {
  useLiveUpdates()
  return (
    <Router {...(hasCluster() ? { base: '/console' } : { hook: useScreenInHash })}>
      <button type="button" className="skip" onClick={skipToContent}>
        Skip to content
      </button>
      <Header />
      <RefusalBar />
      <main id="screen" tabIndex={-1}>
        <Suspense fallback={null}>
          <Switch>
            <Route path="/" component={OverviewScreen} />
            <Route path="/datasources" component={DatasourceList} />
            <Route path="/datasources/:name">
              {({ name }) => {
                const dataSource = decodeURIComponent(name)
                return <DatasourceScreen key={dataSource} dataSource={dataSource} />
              }}
            </Route>
            <Route path="/tiers" component={TiersScreen} />
            {hasCluster() && <Route path="/compaction" component={CompactionScreen} />}
            {hasCluster() && <Route path="/runs" component={RunsScreen} />}
            {hasCluster() && <Route path="/access" component={AccessScreen} />}
            {hasCluster() && <Route path="/faults" component={FaultsScreen} />}
            {hasCluster() && <Route path="/sql" component={SqlScreen} />}
            <Route>
              <Redirect to="/" />
            </Route>
          </Switch>
        </Suspense>
      </main>
    </Router>
  )
}

// Not a link: the address after # may be that of a screen.
const skipToContent = (): void => document.querySelector<HTMLElement>('#screen')?.focus()

/** The screens that the user may open, in the order of the navigation. */
function useScreens(): readonly { readonly path: string; readonly label: string }[] {
  const { data: caller } = useCaller()
  return [
    { path: '/', label: 'Overview' },
    { path: '/datasources', label: 'Datasources' },
    { path: '/tiers', label: 'Tiers' },
    ...(hasCluster()
      ? [
          { path: '/compaction', label: 'Compaction' },
          { path: '/runs', label: 'Runs' },
        ]
      : []),
    ...(caller?.security.read ? [{ path: '/access', label: 'Access' }] : []),
    ...(caller?.simulation && caller.state.read ? [{ path: '/faults', label: 'Faults' }] : []),
    ...(hasCluster() ? [{ path: '/sql', label: 'SQL' }] : []),
  ]
}

function Header() {
  const [location, navigate] = useLocation()
  const screens = useScreens()
  const { user, authorization } = useSession()
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key !== '/' || isTyping(event.target)) return
      event.preventDefault()
      navigate('/datasources')
      requestAnimationFrame(() => document.querySelector<HTMLInputElement>('input[type=search]')?.focus())
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [navigate])
  return (
    <header className="bar">
      <b className="brand">svc</b>
      <nav aria-label="Screens">
        {screens.map(({ path, label }) => {
          const isCurrent = path === '/' ? location === '/' : location.startsWith(path)
          return (
            <Link key={path} href={path} aria-current={isCurrent ? 'page' : undefined}>
              {label}
            </Link>
          )
        })}
      </nav>
      {hasCluster() ? <Connection /> : <SnapshotLabel />}
      <ThemeSwitch />
      {authorization !== undefined && (
        <button type="button" className="quiet" onClick={endSession} title={`Logged in as ${user}`}>
          Log out
        </button>
      )}
    </header>
  )
}

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName)

/** Shows the time of the cluster, or since when the page has not reached it. */
function Connection() {
  const { data, isError, error, dataUpdatedAt } = useInventory()
  const { lostAt, message } = useConnection()
  const time = data && formatMinute(data.now)
  const isLost = isError || lostAt !== undefined
  // A leader that does not know the cluster yet refuses to return its inventory.
  const isReached = lostAt === undefined && error instanceof RequestFailure && error.status >= 500
  return (
    <div className="connection" role="status">
      {isLost ? (
        <span className="stale" title={error?.message ?? message}>
          {isReached ? 'Waiting for the leader' : 'No connection'}
          {time === undefined ? '' : `, last update ${formatMinute(lostAt ?? dataUpdatedAt)}`}
        </span>
      ) : (
        time && <time title="Cluster time">{time}</time>
      )}
    </div>
  )
}
