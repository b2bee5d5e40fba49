import type { ServerChangesPreview } from '@svc/domain/preview'
import { countOf, formatCount } from '@svc/domain/text'

/** Says which segments the servers that are gone or drained leave behind; undefined if all are available elsewhere. */
export function serversLostText({
  unavailableSegments,
  unloadableSegments,
}: Pick<ServerChangesPreview, 'unavailableSegments' | 'unloadableSegments'>):
  | { readonly what: string; readonly why: string }
  | undefined {
  if (unavailableSegments === 0) {
    if (unloadableSegments === 0) return undefined
    return {
      what: `${countOf(unloadableSegments, 'segment')} cannot leave the drained servers,`,
      why: 'because no other server can load them.',
    }
  }
  const what = `${countOf(unavailableSegments, 'segment')} cannot be queried`
  if (unloadableSegments === 0) return { what, why: 'until other servers have loaded them.' }
  if (unloadableSegments >= unavailableSegments)
    return { what, why: 'anymore: no other server can load them.' }
  return {
    what,
    why: `until other servers have loaded them, which is impossible for ${formatCount(unloadableSegments)} of them.`,
  }
}
