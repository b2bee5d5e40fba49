// Loaded into every service of a run before its own source, so that its connections use the links of the run.
import { readFileSync } from 'node:fs'
import { Socket } from 'node:net'

const file = process.env.SVC_TEST_LINKS
if (file !== undefined) redirectConnections(JSON.parse(readFileSync(file, 'utf8')))

type Connect = (this: Socket, ...args: unknown[]) => Socket

/** Redirects connections to a local port to its replacement in `ports`. */
function redirectConnections(ports: Readonly<Record<string, number>>): void {
  const prototype = Socket.prototype as unknown as { connect: Connect }
  const connect = prototype.connect
  prototype.connect = function (...args) {
    const [first] = args
    if (typeof first === 'number' || typeof first === 'string') args[0] = ports[first] ?? first
    else {
      // Node.js itself passes its arguments as a list, options first.
      const options = (Array.isArray(first) ? first[0] : first) as { port?: number }
      if (options.port !== undefined) options.port = ports[options.port] ?? options.port
    }
    return connect.apply(this, args)
  }
}
