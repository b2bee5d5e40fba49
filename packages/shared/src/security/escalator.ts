import type { Settings } from '../config/index.ts'
import { basicHeader } from './basic-header.ts'

/** The Authorization header of calls among the servers; undefined where no login is asked for. */
export function escalatorHeader(settings: Settings): string | undefined {
  if (settings.get('svc.escalator.type') === 'noop') return undefined
  return basicHeader(
    settings.get('svc.escalator.internalClientUsername'),
    settings.get('svc.escalator.internalClientPassword') ?? '',
  )
}
