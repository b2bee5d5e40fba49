/** Stands in for the connections of the router, which only `relay` uses. */
import type { createAgents as create } from '../../../services/router/src/agents.ts'

export const createAgents: typeof create = () => ({
  current: () => ({}) as ReturnType<ReturnType<typeof create>['current']>,
  close: async () => undefined,
})
