/** Which server answers a path of the router. */
export function answeringServer(path: string): 'coordinator' | 'router' {
  return /^\/[^/]+\/(coordinator|indexer)\/|\/basic-security\//.test(path) ? 'coordinator' : 'router'
}
