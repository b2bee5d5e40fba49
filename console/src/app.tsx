import { type ReactNode, Suspense, useEffect } from 'react'
import { Link, Route, Router, Switch, useLocation } from 'wouter'
import { useCaller, useConnection, useInventory, useIsCut, useLiveUpdates } from './cluster/index.ts'
import { UnsavedEdits } from './drafts/index.ts'
import { lazyScreen, retryScreens } from './lazy-screen.tsx'
import { nameInAddress, useScreenInHash, useScreenInPath } from './location.ts'
import { RefusalBar } from './refusal-bar.tsx'
import { titleOf, useScreens } from './screens.ts'
import { cancelSearchRequest, keepSearchKey, requestSearch } from './search-request.ts'
import { hasCluster, logOut, RequestFailure, useSession } from './session/index.ts'
import { SnapshotLabel } from './snapshot/index.ts'
import { Boundary, Empty, formatMinute, isTyping, ThemeSwitch, visible } from './ui/index.ts'

const OverviewScreen = lazyScreen(
  () => import('./overview/index.ts'),
  (room) => room.OverviewScreen,
)
const DatasourceList = lazyScreen(
  () => import('./datasource/index.ts'),
  (room) => room.DatasourceList,
)
const DatasourceScreen = lazyScreen(
  () => import('./datasource/index.ts'),
  (room) => room.DatasourceScreen,
)
const CompactionScreen = lazyScreen(
  () => import('./compaction/index.ts'),
  (room) => room.CompactionScreen,
)
const AccessScreen = lazyScreen(
  () => import('./access/index.ts'),
  (room) => room.AccessScreen,
)
const RunsScreen = lazyScreen(
  () => import('./runs/index.ts'),
  (room) => room.RunsScreen,
)
const SqlScreen = lazyScreen(
  () => import('./sql/index.ts'),
  (room) => room.SqlScreen,
)
const TiersScreen = lazyScreen(
  () => import('./tiers/index.ts'),
  (room) => room.TiersScreen,
)
const FaultsScreen = lazyScreen(
  () => import('./faults/index.ts'),
  (room) => room.FaultsScreen,
)

/** The console after the login: navigation and the current screen. */
export function App() {
  useLiveUpdates()
  return (
    <Router {...(hasCluster() ? { base: '/console', hook: useScreenInPath } : { hook: useScreenInHash })}>
      <button type="button" className="skip" onClick={skipToContent}>
        Skip to content
      </button>
      <Header />
      <RefusalBar />
      <main id="screen" tabIndex={-1}>
        <Screens />
      </main>
    </Router>
  )
}

/** The screen of the current address, or why it cannot be shown. */
function Screens() {
  const [location] = useLocation()
  useEffect(() => {
    document.title = titleOf(location)
  }, [location])
  return (
    <Boundary place={location} onRetry={retryScreens}>
      <Suspense fallback={<Empty title="Loading…" />}>
        <Switch>
          <Route path="/" component={OverviewScreen} />
          <Route path="/datasources" component={DatasourceList} />
          <Route path="/datasources/:name">
            {({ name }) => {
              const dataSource = nameInAddress(name)
              return dataSource === undefined ? (
                <InvalidAddress name={name} />
              ) : (
                <DatasourceScreen key={dataSource} dataSource={dataSource} />
              )
            }}
          </Route>
          <Route path="/tiers/:server?" component={TiersScreen} />
          {hasCluster() && (
            <Route path="/compaction/:name?">
              <Permitted path="/compaction" requires="READ on a datasource">
                <CompactionScreen />
              </Permitted>
            </Route>
          )}
          {hasCluster() && (
            <Route path="/runs/:task?">
              <Permitted path="/runs" requires="READ on STATE, or READ or WRITE on a datasource">
                <RunsScreen />
              </Permitted>
            </Route>
          )}
          {hasCluster() && <Route path="/access/:kind?/:name?" component={AccessScreen} />}
          {hasCluster() && <Route path="/faults" component={FaultsScreen} />}
          {hasCluster() && (
            <Route path="/sql">
              <Permitted path="/sql" requires="READ on a datasource">
                <SqlScreen />
              </Permitted>
            </Route>
          )}
          <Route component={NoSuchPage} />
        </Switch>
      </Suspense>
    </Boundary>
  )
}

/** A screen that requires a permission. The navigation hides it from users without it. */
function Permitted({
  path,
  requires,
  children,
}: {
  readonly path: string
  readonly requires: string
  readonly children: ReactNode
}) {
  const { data: caller } = useCaller()
  const screens = useScreens()
  if (caller === undefined || screens.some((screen) => screen.path === path)) return children
  return (
    <Empty title="Missing permission">
      <p>This screen requires {requires}.</p>
    </Empty>
  )
}

const NoSuchPage = () => (
  <Empty title="Page not found">
    <p>
      <Link href="/">Go to the overview</Link>
    </p>
  </Empty>
)

const InvalidAddress = ({ name }: { readonly name: string }) => (
  <Empty title="This address is invalid">
    <p>
      Invalid name <code>{name}</code> in the address: expected a percent-encoded name in UTF-8.
    </p>
    <p>
      <Link href="/datasources">Show all datasources</Link>
    </p>
  </Empty>
)

// Not a link: the address after # may be that of a screen.
const skipToContent = (): void => document.querySelector<HTMLElement>('#screen')?.focus()

function Header() {
  const [location, navigate] = useLocation()
  const screens = useScreens()
  const { user, authorization } = useSession()
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (keepSearchKey(event)) return event.preventDefault()
      if (event.key !== '/' || isTyping(event.target)) return
      event.preventDefault()
      navigate('/datasources')
      requestSearch()
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [navigate])
  useEffect(() => {
    if (location !== '/datasources') cancelSearchRequest()
  }, [location])
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
      <UnsavedEdits />
      {hasCluster() ? <Connection /> : <SnapshotLabel />}
      <ThemeSwitch />
      {authorization !== undefined && (
        <button type="button" className="quiet" onClick={logOut} title={`Logged in as ${visible(user)}`}>
          Log out
        </button>
      )}
    </header>
  )
}

/** Shows the time of the cluster, or when the page lost the connection to it. */
function Connection() {
  const { data, isError, error, dataUpdatedAt } = useInventory()
  const { lostAt, message } = useConnection()
  const time = data && formatMinute(data.now)
  const isLost = isError || lostAt !== undefined
  // A leader that does not know the cluster yet refuses to return its inventory.
  const isReached = lostAt === undefined && error instanceof RequestFailure && error.status >= 500
  const isCut = useIsCut(isReached)
  return (
    <div className="connection" role="status">
      {isLost ? (
        <span className="stale" title={error?.message ?? message}>
          {isCut ? 'A fault cuts off servers' : isReached ? 'Waiting for the leader' : 'No connection'}
          {time === undefined ? '' : `, last update ${formatMinute(lostAt ?? dataUpdatedAt)}`}
        </span>
      ) : (
        time && <time title="Cluster time">{time}</time>
      )}
    </div>
  )
}
