import { createHash } from 'node:crypto'
import { open, readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { SegmentPayload } from '@svc/domain/segment'
import { checksumOfFile, errorCode, safeFileName } from '../deep-storage/index.ts'

/** Name of a segment's file inside its folder. */
export const segmentFileName = 'segment.parquet'
const descriptorFileName = 'descriptor.json'

/** What the folder of a cached segment contains. */
export type FolderState =
  | { readonly kind: 'complete'; readonly payload: SegmentPayload }
  | { readonly kind: 'damaged'; readonly payload: SegmentPayload | undefined; readonly problem: string }

interface Descriptor {
  readonly payload: SegmentPayload
  /** Checksum of the payload's JSON text, so that damage to the descriptor is detected. */
  readonly payloadChecksum: string
}

const checksumOfText = (text: string): string => `sha256:${createHash('sha256').update(text).digest('hex')}`

/** Writes the descriptor: the last file, which completes the folder. */
export async function writeDescriptor(folder: string, payload: SegmentPayload): Promise<void> {
  const payloadChecksum = checksumOfText(JSON.stringify(payload))
  const descriptor: Descriptor = { payload, payloadChecksum }
  const file = await open(join(folder, descriptorFileName), 'wx')
  try {
    await file.writeFile(JSON.stringify(descriptor))
    await file.sync()
  } finally {
    await file.close()
  }
}

function readDescriptor(text: string): SegmentPayload | undefined {
  try {
    const { payload, payloadChecksum } = JSON.parse(text) as Descriptor
    return checksumOfText(JSON.stringify(payload)) === payloadChecksum ? payload : undefined
  } catch {
    return undefined
  }
}

/**
 * Reads the folder of a cached segment completely, and compares the size and checksum of its file with its descriptor.
 * A folder that cannot be read counts as damaged, because it cannot be served.
 */
export async function checkFolder(parent: string, name: string): Promise<FolderState> {
  let payload: SegmentPayload | undefined
  const damaged = (problem: string): FolderState => ({ kind: 'damaged', payload, problem })
  try {
    const folder = join(parent, name)
    const names = await readdir(folder)
    if (!names.includes(descriptorFileName)) return damaged('the folder has no descriptor')
    payload = readDescriptor(await readFile(join(folder, descriptorFileName), 'utf8'))
    if (payload === undefined) return damaged('the descriptor is invalid')
    if (safeFileName(payload.identifier) !== name) {
      const problem = `the folder name does not match segment [${payload.identifier}]`
      payload = undefined
      return damaged(problem)
    }
    const file = join(folder, segmentFileName)
    if (!names.includes(segmentFileName)) return damaged('the segment file is missing')
    const { size } = await stat(file)
    if (size !== payload.size) return damaged(`expected [${payload.size}] bytes but found [${size}]`)
    const { checksum } = await checksumOfFile(file)
    if (checksum !== payload.loadSpec.checksum) {
      return damaged(`expected checksum [${payload.loadSpec.checksum}] but found [${checksum}]`)
    }
    return { kind: 'complete', payload }
  } catch (error) {
    return damaged(`failed to read the folder: ${errorCode(error)}`)
  }
}
