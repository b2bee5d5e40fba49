import { createHash } from 'node:crypto'

/** Returns the checksum of a file as segments have it. */
export const checksumOf = (content: Buffer): string =>
  `sha256:${createHash('sha256').update(content).digest('hex')}`
