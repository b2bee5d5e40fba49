import { describeError } from '@svc/domain/failure'
import { createProblemLog, type Logger, type Loop, startLoop } from '@svc/shared/runtime'
import type { SegmentInventory } from './segment-inventory.ts'
import type { ServerInventory } from './server-inventory.ts'

const periodMs = 1000

/**
 * Keeps what this coordinator knows current while it is not the leader, so that it can decide soon after it becomes the leader.
 * The leader reads segments when it needs them.
 */
export function followAsStandby(
  segments: Pick<SegmentInventory, 'refreshIfChanged'>,
  servers: Pick<ServerInventory, 'expireAsStandby'>,
  isLeader: () => boolean,
  logger: Logger,
): Loop {
  const problemLog = createProblemLog(logger)
  return startLoop(
    periodMs,
    async () => {
      if (isLeader()) return
      servers.expireAsStandby(performance.now())
      await segments.refreshIfChanged()
      problemLog.over('Resumed reading changes to segments as a standby')
    },
    (error) =>
      problemLog.report('Failed to read changes to segments as a standby', { error: describeError(error) }),
  )
}
