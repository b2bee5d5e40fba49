// Longer request lines are refused by the parser.
const maxLineLength = 16_384
/** A request line without a version (HTTP/0.9), or with the version of another protocol. */
const foreignLine = /^[A-Z-]+ [^ ]+(?: (?!HTTP\/)[^ ]*)?$/

/**
 * Reads the first line of a request. The parser of Node.js waits for the headers of an HTTP/0.9 request, which has none, and takes
 * RTSP/1.0 for HTTP/1.0.
 */
export class RequestLine {
  private received = ''
  private isWhole = false

  /** Reads the next bytes of the request. Returns whether the first line is complete and is not that of an HTTP/1 request. */
  isForeign(bytes: Buffer): boolean {
    if (this.isWhole) return false
    this.received = (this.received + bytes.toString('latin1', 0, maxLineLength)).replace(/^[\r\n]+/, '')
    const end = this.received.indexOf('\n')
    this.isWhole = end >= 0 || this.received.length >= maxLineLength
    return end >= 0 && foreignLine.test(this.received.slice(0, end).replace(/\r$/, ''))
  }
}
