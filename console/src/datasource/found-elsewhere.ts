import { byNumberedName } from '../formats/index.ts'
import type { ScreenLink } from '../screens.ts'

/** What a search finds in addition to datasources. */
export interface FoundElsewhere {
  readonly screens: readonly ScreenLink[]
  /** The first servers whose names contain the text. */
  readonly hosts: readonly string[]
  /** Number of further servers. */
  readonly moreHosts: number
}

const maxHosts = 8

/** Finds screens that start with a text, and servers whose names contain it. */
export function foundElsewhere(
  text: string,
  screens: readonly ScreenLink[],
  hosts: readonly string[],
): FoundElsewhere {
  const wanted = text.trim().toLowerCase()
  if (wanted === '') return { screens: [], hosts: [], moreHosts: 0 }
  const found = hosts.filter((host) => host.toLowerCase().includes(wanted)).sort(byNumberedName)
  return {
    screens: screens.filter(({ label }) => label.toLowerCase().startsWith(wanted)),
    hosts: found.slice(0, maxHosts),
    moreHosts: Math.max(0, found.length - maxHosts),
  }
}
