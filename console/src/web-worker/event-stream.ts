/** A server-sent event. */
export interface ServerEvent {
  readonly name: string
  readonly id: string | undefined
  readonly data: string
}

/** Yields the events of a stream, and undefined for each heartbeat in between. */
export async function* eventsOf(body: ReadableStream<Uint8Array>): AsyncGenerator<ServerEvent | undefined> {
  // Not every browser can iterate over a stream.
  const reader = body.getReader()
  const decoder = new TextDecoder()
  let rest = ''
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      const blocks = (rest + decoder.decode(value, { stream: true })).split('\n\n')
      rest = blocks.pop()!
      for (const block of blocks) yield eventOf(block)
    }
  } finally {
    await reader.cancel().catch(() => undefined)
  }
}

function eventOf(block: string): ServerEvent | undefined {
  const fields = new Map(
    block.split('\n').map((line) => {
      const colon = line.indexOf(': ')
      return [line.slice(0, colon), line.slice(colon + 2)]
    }),
  )
  const name = fields.get('event')
  return name === undefined ? undefined : { name, id: fields.get('id'), data: fields.get('data') ?? '' }
}
