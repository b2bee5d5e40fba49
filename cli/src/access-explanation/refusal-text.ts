import {
  certificateRows,
  handshakeAdvice,
  type Recorded,
  type RefusedHandshake,
  type RefusedRequest,
} from '@svc/domain/access'
import { countOf } from '@svc/domain/text'
import { emphasized, formatTable } from '../terminal/index.ts'
import type { Explanation } from './explain-access.ts'
import { directoryText, explanationText } from './explanation-text.ts'

/** A refused handshake as text: what was wrong, and the certificate. */
export function handshakeText(refused: Recorded<RefusedHandshake>): string {
  const { id, instance, time, address, reason, certificate } = refused
  const sections = [
    `${emphasized('Refused')}: handshake ${id} from [${address}] to ${instance} at ${time}\n${reason}.`,
    `${handshakeAdvice(refused)}.`,
  ]
  if (certificate !== null) sections.push(formatTable(['certificate', ''], certificateRows(certificate)))
  return `${sections.join('\n\n')}\n`
}

const maxListed = 40

/** A row for each of the newest refused handshakes. */
export const handshakesText = (refused: readonly Recorded<RefusedHandshake>[]): string =>
  refused.length === 0
    ? 'No server has refused a handshake since it started.\n'
    : `${formatTable(
        ['time', 'server', 'client', 'certificate', 'code', 'ID'],
        refused
          .slice(0, maxListed)
          .map(({ time, instance, address, certificate, code, id }) => [
            time,
            instance,
            address,
            certificate?.subject ?? '',
            code,
            id,
          ]),
      )}\n${refused.length > maxListed ? `And ${countOf(refused.length - maxListed, 'earlier handshake')} (--json lists all)\n` : ''}`

/** What the cluster decides about a refused request now: an explanation, or why there is none. */
export type PresentDecision = { readonly explanation: Explanation } | { readonly missing: string }

/** A refused request as text: first why it was refused, then what the cluster decides about such a request now. */
export function refusedRequestText(refused: Recorded<RefusedRequest>, now: PresentDecision): string {
  const { id, instance, time, address, method, path, status, message, reason, because, directory } = refused
  const sections = [
    `${emphasized('Refused')}: request ${id} from [${address}] to ${instance} at ${time}\n${method} ${path}: status ${status}, ${message}.`,
    `Reason: ${reason}\n${because}.`,
  ]
  if (directory.length > 0) sections.push(directoryText('Directory at that time', directory))
  if ('missing' in now) sections.push(`Now: ${now.missing}.\n`)
  else sections.push(`Now: ${changeText(refused, now.explanation)}.`, explanationText(now.explanation))
  return sections.join('\n\n')
}

/** Returns how the present state explains the refusal. */
function changeText({ status, user, reason }: RefusedRequest, { allowed }: Explanation): string {
  if (allowed === false)
    return status === 403
      ? 'the cluster would refuse such a request again'
      : 'the cluster would refuse such a request even with the correct password'
  if (allowed === null) return `whether [${user}] may make such a request depends on its content`
  if (status === 403)
    return `[${user}] has the permission for this endpoint. It was granted since then, or the request needed another permission, which the reason names`
  return reason === 'FORBIDDEN_NETWORK'
    ? `[${user}] may make such a request from an address in [svc.auth.internalClientAllowedNetworks]`
    : `[${user}] may make such a request with the correct password`
}
