import { described, type Reader, refuse } from '@svc/domain/validation'
import { readVirtualServerGroups, type VirtualServerGroup, virtualServerGroups } from '@svc/shared/config'
import { emptyAnswer, jsonAnswer, jsonBody, type Route, route, state } from '@svc/shared/http'
import * as z from 'zod'
import type { VirtualServers } from './virtual-servers.ts'

const path = '/svc/historical/v1/virtualServers'

const groupsShape = z.array(z.looseObject({ tier: z.string().optional() }))

/** The endpoints to show and change virtual servers. Only a process that runs virtual servers has them. */
export function virtualServerRoutes(servers: VirtualServers): Route[] {
  return [
    route({
      method: 'GET',
      path,
      access: state('READ'),
      summary: 'List the groups of virtual servers of this process',
      answers: [jsonAnswer(groupsShape)],
      handle: () => servers.groups().map(describeGroup),
    }),
    route({
      method: 'POST',
      path,
      access: state('WRITE'),
      summary:
        'Replace the virtual servers of this process until it restarts. Returns once the coordinator leader knows about them',
      body: jsonBody(readGroups),
      answers: [emptyAnswer],
      handle: async ({ body }) => {
        await servers.replace(body)
      },
    }),
  ]
}

const readGroups: Reader<readonly VirtualServerGroup[]> = described(
  { type: 'array', items: { type: 'object', additionalProperties: true } },
  (json, field) => {
    try {
      return readVirtualServerGroups(json)
    } catch {
      throw refuse(field, json, virtualServerGroups.allowed)
    }
  },
)

const describeGroup = (group: VirtualServerGroup) => ({
  ...(group.name === undefined ? { count: group.count } : { name: group.name }),
  type: group.type,
  tier: group.tier,
  priority: group.priority,
  size: group.maxSizeBytes,
  loadBytesPerSecond: group.bytesPerSecond,
  failureProbability: group.failureProbability,
})
