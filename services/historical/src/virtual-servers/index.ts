/** Virtual servers for simulations, which exist only in this process. */
export { virtualServerRoutes } from './virtual-server-routes.ts'
export { createVirtualServers } from './virtual-servers.ts'
