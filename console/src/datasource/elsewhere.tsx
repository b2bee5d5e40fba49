import { formatCount } from '@svc/domain/text'
import { Link } from 'wouter'
import { maxListedTasks, useCaller, useDataServers, useTasks, useUsersAndRoles } from '../cluster/index.ts'
import { useScreens } from '../screens.ts'
import { Name } from '../ui/index.ts'
import { foundElsewhere } from './found-elsewhere.ts'

/** Links to what a search finds in addition to the list. Only what the user may read is requested. */
export function Elsewhere({
  text,
  dataSources,
}: {
  readonly text: string
  /** The datasources that are not in the list. */
  readonly dataSources: readonly string[]
}) {
  const isSearching = text.trim() !== ''
  const screens = useScreens()
  const canSearch = (path: string) => isSearching && screens.some((screen) => screen.path === path)
  const { data: caller } = useCaller()
  const { data: servers = [] } = useDataServers(isSearching && caller?.state.read === true)
  const { data: tasks = [] } = useTasks(maxListedTasks, canSearch('/runs'))
  const { data: access } = useUsersAndRoles(canSearch('/access'))
  const found = foundElsewhere(text, {
    dataSources,
    screens,
    hosts: servers.map(({ host }) => host),
    tasks: tasks.map(({ id }) => id),
    users: Object.keys(access?.users ?? {}),
  })
  if (found.length === 0) return null
  return (
    <div className="elsewhere" role="status" aria-label="Also found">
      {found.map(({ kind, links, more }) => (
        <p key={kind} className="row">
          <span className="dim">{kind}</span>
          {links.map(({ label, href }) => (
            <Link key={href} href={href}>
              <Name>{label}</Name>
            </Link>
          ))}
          {more > 0 && <span className="dim">and {formatCount(more)} more</span>}
        </p>
      ))}
    </div>
  )
}
