/** Servers that exist in this process only, for simulations: made, seen and changed. */
export { virtualServerRoutes } from './virtual-server-routes.ts'
export { createVirtualServers } from './virtual-servers.ts'
