import { lazy, Suspense, useEffect } from 'react'
import { Link, Redirect, Route, Router, Switch, useLocation } from 'wouter'
import { useConnection, useInventory, useLiveUpdates } from './cluster/index.ts'
import { endSession, useSession } from './session/index.ts'
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
const TiersScreen = lazy(() => import('./tiers/index.ts').then((room) => ({ default: room.TiersScreen })))

/** The console after the login: navigation and the current screen. */
export function App() {
  useLiveUpdates()
  return (
    <Router base="/console">
      <a className="skip" href="#screen">
        Skip to content
      </a>
      <Header />
      <main id="screen">
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
            <Route>
              <Redirect to="/" />
            </Route>
          </Switch>
        </Suspense>
      </main>
    </Router>
  )
}

const screens = [
  { path: '/', label: 'Overview' },
  { path: '/datasources', label: 'Datasources' },
  { path: '/tiers', label: 'Tiers' },
] as const

function Header() {
  const [location, navigate] = useLocation()
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
      <Connection />
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
  return (
    <div className="connection" role="status">
      {isLost ? (
        <span className="stale" title={error?.message ?? message}>
          No connection{time === undefined ? '' : `, last update ${formatMinute(lostAt ?? dataUpdatedAt)}`}
        </span>
      ) : (
        time && <time title="Cluster time">{time}</time>
      )}
    </div>
  )
}
