import { EventEmitter } from 'node:events'

/** A request on the simulated network. */
export interface HttpRequest {
  readonly method: string
  /** With the query. */
  readonly path: string
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer | undefined
}

/** A complete response on the simulated network. */
export interface HttpAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
}

/** A response that a handler writes. It is sent once it is complete. */
export class SimulatedResponse extends EventEmitter {
  statusCode = 200
  headersSent = false
  destroyed = false
  writableFinished = false
  private readonly headers: Record<string, string> = {}
  private readonly chunks: Buffer[] = []
  private readonly resolvers = Promise.withResolvers<HttpAnswer>()
  /** Resolves with the response once it is complete. Rejects if the connection is closed before. */
  readonly complete = this.resolvers.promise

  constructor() {
    super()
    this.complete.catch(() => undefined)
  }

  setHeader(name: string, value: unknown): this {
    this.headers[name.toLowerCase()] = String(value)
    return this
  }

  getHeader(name: string): string | undefined {
    return this.headers[name.toLowerCase()]
  }

  writeHead(status: number, headers: Readonly<Record<string, unknown>> = {}): this {
    this.statusCode = status
    for (const [name, value] of Object.entries(headers)) this.setHeader(name, value)
    this.headersSent = true
    return this
  }

  write(chunk: Buffer | string): boolean {
    this.headersSent = true
    this.chunks.push(Buffer.from(chunk))
    return true
  }

  end(chunk?: Buffer | string): this {
    if (chunk !== undefined) this.write(chunk)
    this.headersSent = true
    this.writableFinished = true
    const body = this.chunks.length === 1 ? this.chunks[0]! : Buffer.concat(this.chunks)
    this.resolvers.resolve({ status: this.statusCode, headers: this.headers, body })
    this.emit('close')
    return this
  }

  /** Closes the connection without a complete response. */
  destroy(): this {
    if (this.destroyed || this.writableFinished) return this
    this.destroyed = true
    this.resolvers.reject(new Error('The response was cut off'))
    this.emit('close')
    return this
  }
}
