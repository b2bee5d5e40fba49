// Loaded into every service of a run before its own source: its connections go through the links of the run.
import { readFileSync } from 'node:fs'
import { Socket } from 'node:net'

const file = process.env.SVC_TEST_LINKS
if (file !== undefined) redirectConnections(JSON.parse(readFileSync(file, 'utf8')))

type Connect = (this: Socket, ...args: unknown[]) => Socket

/** Sends connections to a port of this machine to the one that stands for it in `ports`. */
function redirectConnections(ports: Readonly<Record<string, number>>): void {
  const prototype = Socket.prototype as unknown as { connect: Connect }
  const connect = prototype.connect
  prototype.connect = function (...args) {
    const [first] = args
    if (typeof first === 'number' || typeof first === 'string') args[0] = ports[first] ?? first
    else {
      // Those of node's own callers come in a list, options first.
      const options = (Array.isArray(first) ? first[0] : first) as { port?: number }
      if (options.port !== undefined) options.port = ports[options.port] ?? options.port
    }
    return connect.apply(this, args)
  }
}
