import { closeSync, openSync, readSync } from 'node:fs'
import { describeError, Failure, invalidInput, notFound } from '@svc/domain/failure'
import { escapeControlCharacters } from '@svc/domain/validation'

const standardInput = '-'

/** The name of a file in messages; `-` is standard input. */
export const inputName = (file: string): string =>
  file === standardInput ? 'standard input' : `file [${file}]`

// Far more than the largest request that a cluster accepts. A device such as /dev/zero never ends.
const maxInputBytes = 64 * 1024 * 1024

/** The text of a file, or of standard input for `-`; `things` names its contents. Throws a Failure if it is unreadable. */
export function readInputText(file: string, things: string): string {
  try {
    if (file === standardInput) return readToEnd(0, file)
    const descriptor = openSync(file, 'r')
    try {
      return readToEnd(descriptor, file)
    } finally {
      closeSync(descriptor)
    }
  } catch (error) {
    if (error instanceof Failure) throw error
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') throw notFound(`File [${file}] does not exist`)
    if (code === 'EISDIR') throw invalidInput(`[${file}] is a folder; expected a file`)
    throw notFound(`Failed to read the ${things} in [${file}]: ${describeError(error)}`)
  }
}

/** Reads an input to its end. If it does not block, as with some terminals and parents, waits for more. */
function readToEnd(descriptor: number, file: string): string {
  const chunks: Buffer[] = []
  let bytes = 0
  for (;;) {
    const chunk = Buffer.alloc(65_536)
    const length = readOrWait(descriptor, chunk)
    if (length === 0) return Buffer.concat(chunks).toString()
    if (length === undefined) continue
    chunks.push(chunk.subarray(0, length))
    bytes += length
    if (bytes > maxInputBytes)
      throw invalidInput(`Too much text in ${inputName(file)}: expected at most 64 MiB`)
  }
}

const waitMs = 20

/** Returns the number of bytes read, 0 at the end, or undefined after a wait. */
function readOrWait(descriptor: number, chunk: Buffer): number | undefined {
  try {
    return readSync(descriptor, chunk)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EOF') return 0
    if (code !== 'EAGAIN') throw error
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, waitMs)
    return undefined
  }
}

/** The parsed JSON of a text. Throws a Failure if it is not valid JSON. */
export function parseInputJson(text: string, things: string, source: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    // The parser's message quotes the text, which may be that of a program.
    const reason = escapeControlCharacters(describeError(error))
    throw invalidInput(`Invalid ${things} in ${source}: expected JSON (${reason})`)
  }
}
