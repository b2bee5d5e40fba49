import { invalidInput } from '@svc/domain/failure'
import { showValue } from '@svc/domain/validation'
import { readVirtualServerGroups, type VirtualServerGroup, virtualServerGroups } from '@svc/shared/config'
import { emptyAnswer, jsonAnswer, jsonBody, type Route, route, state } from '@svc/shared/http'
import { shapedParser } from '@svc/shared/wire'
import { z } from 'zod'
import type { VirtualServers } from './virtual-servers.ts'

const path = '/svc/historical/v1/virtualServers'

const groupsShape = z.array(z.looseObject({ tier: z.string().optional() }))

/** The endpoints by which the servers of a simulation are seen and changed; only a process of such servers has them. */
export function virtualServerRoutes(servers: VirtualServers): Route[] {
  return [
    route({
      method: 'GET',
      path,
      access: state('READ'),
      summary: 'The groups of virtual servers of this process',
      answers: [jsonAnswer(groupsShape)],
      handle: () => servers.groups().map(describeGroup),
    }),
    route({
      method: 'POST',
      path,
      access: state('WRITE'),
      summary:
        'Makes other virtual servers of this process until it is started again; answers when the leader knows',
      body: jsonBody(shapedParser(groupsShape, parseGroups)),
      answers: [emptyAnswer],
      handle: async ({ body }) => {
        await servers.replace(body)
      },
    }),
  ]
}

function parseGroups(json: unknown): readonly VirtualServerGroup[] {
  try {
    return readVirtualServerGroups(json)
  } catch {
    throw invalidInput(
      `The virtual servers are [${showValue(json)}]; expected ${virtualServerGroups.allowed}`,
    )
  }
}

const describeGroup = (group: VirtualServerGroup) => ({
  ...(group.name === undefined ? { count: group.count } : { name: group.name }),
  type: group.type,
  tier: group.tier,
  priority: group.priority,
  size: group.maxSizeBytes,
  loadBytesPerSecond: group.bytesPerSecond,
  failureProbability: group.failureProbability,
})
