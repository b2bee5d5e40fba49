import { byNumberedName } from '../formats/index.ts'
import { accessAddress, datasourceAddress, serverAddress, taskAddress } from '../location.ts'
import type { ScreenLink } from '../screens.ts'

/** What a search can find in addition to the rows of the list, as far as the user may read it. */
interface Searched {
  /** The datasources that are not in the list. */
  readonly dataSources: readonly string[]
  readonly screens: readonly ScreenLink[]
  readonly hosts: readonly string[]
  /** IDs of tasks, newest first. */
  readonly tasks: readonly string[]
  readonly users: readonly string[]
}

/** What a search finds of one kind: the first links, and the number of further ones. */
interface FoundLinks {
  readonly kind: string
  readonly links: readonly { readonly label: string; readonly href: string }[]
  readonly more: number
}

const maxLinks = 8

/** Finds screens that start with a text, and datasources, servers, tasks, and users whose names contain it. */
export function foundElsewhere(text: string, searched: Searched): FoundLinks[] {
  const { dataSources, screens, hosts, tasks, users } = searched
  const wanted = text.trim().toLowerCase()
  if (wanted === '') return []
  const named = (kind: string, names: readonly string[], addressOf: (name: string) => string): FoundLinks => {
    const found = names.filter((name) => name.toLowerCase().includes(wanted))
    const links = found.slice(0, maxLinks).map((label) => ({ label, href: addressOf(label) }))
    return { kind, links, more: found.length - links.length }
  }
  const shown = screens.filter(({ label }) => label.toLowerCase().startsWith(wanted))
  return [
    named('Datasources', dataSources, datasourceAddress),
    { kind: 'Screens', links: shown.map(({ label, path }) => ({ label, href: path })), more: 0 },
    named('Servers', hosts.toSorted(byNumberedName), serverAddress),
    named('Users', users.toSorted(byNumberedName), (name) => accessAddress('user', name)),
    named('Tasks', tasks, taskAddress),
  ].filter(({ links }) => links.length > 0)
}
