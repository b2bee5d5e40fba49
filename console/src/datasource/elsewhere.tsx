import { formatCount } from '@svc/domain/text'
import type { RefObject } from 'react'
import { Link } from 'wouter'
import { useCaller, useDataServers } from '../cluster/index.ts'
import { serverAddress } from '../location.ts'
import { type ScreenLink, useScreens } from '../screens.ts'
import { Name } from '../ui/index.ts'
import { foundElsewhere } from './found-elsewhere.ts'

interface ElsewhereInput {
  readonly text: string
  /** The list of links. */
  readonly list: RefObject<HTMLParagraphElement | null>
}

/** Links to the screens and servers that a search finds. */
export function Elsewhere({ text, list }: ElsewhereInput) {
  const { data: caller } = useCaller()
  const screens = useScreens()
  if (text.trim() === '') return null
  if (caller?.state.read) return <WithServers text={text} list={list} screens={screens} />
  return <Links text={text} list={list} screens={screens} hosts={[]} />
}

function WithServers(input: ElsewhereInput & { readonly screens: readonly ScreenLink[] }) {
  const { data: servers = [] } = useDataServers()
  return <Links {...input} hosts={servers.map(({ host }) => host)} />
}

function Links({
  text,
  list,
  screens,
  hosts,
}: ElsewhereInput & { readonly screens: readonly ScreenLink[]; readonly hosts: readonly string[] }) {
  const found = foundElsewhere(text, screens, hosts)
  if (found.screens.length + found.hosts.length === 0) return null
  return (
    <p className="row elsewhere" ref={list} role="status" aria-label="Also found">
      {found.screens.length > 0 && <span className="dim">Screens</span>}
      {found.screens.map(({ path, label }) => (
        <Link key={path} href={path}>
          {label}
        </Link>
      ))}
      {found.hosts.length > 0 && <span className="dim">Servers</span>}
      {found.hosts.map((host) => (
        <Link key={host} href={serverAddress(host)}>
          <Name>{host}</Name>
        </Link>
      ))}
      {found.moreHosts > 0 && <span className="dim">and {formatCount(found.moreHosts)} more</span>}
    </p>
  )
}
