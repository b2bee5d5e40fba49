let isClosed = false

/** Records that nobody reads the output anymore, such as after `| head`. Streams do not know: standard output stays writable. */
export function noteClosedOutput(): void {
  isClosed = true
}

/** Whether someone may still read the output, so that commands that show changes continue. */
export const isOutputRead = (): boolean => !isClosed
