// Loaded into every service of a run before its own source: its connections go through the links of the run, and its
// clock is as far from the true one as the run says.
import { readFileSync } from 'node:fs'
import { Socket } from 'node:net'
import path from 'node:path'

const clockPeriodMs = 100
const folder = process.env.SVC_TEST_FAULTS
const runtime = process.argv.indexOf('--runtime')
const file = runtime < 0 ? undefined : process.argv[runtime + 1]

if (folder !== undefined && file !== undefined) {
  const instance = path.basename(path.dirname(file))
  const links = JSON.parse(readFileSync(path.join(folder, 'links.json'), 'utf8'))
  redirectConnections(links[instance] ?? {})
  followClock(path.join(folder, `${instance}.clock`))
}

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

/** Moves what `Date` says by the milliseconds that stand in a file, once it is there. */
function followClock(clockFile: string): void {
  const TrueDate = Date
  let byMs = 0
  setInterval(() => {
    try {
      byMs = Number(readFileSync(clockFile, 'utf8'))
    } catch {
      byMs = 0
    }
  }, clockPeriodMs).unref()
  const now = () => TrueDate.now() + byMs
  globalThis.Date = new Proxy(TrueDate, {
    construct: (target, args, newTarget) =>
      Reflect.construct(target, args.length === 0 ? [now()] : args, newTarget),
    apply: () => new TrueDate(now()).toString(),
    get: (target, name, receiver) => (name === 'now' ? now : Reflect.get(target, name, receiver)),
  })
}
