import { randomUUID } from 'node:crypto'
import { mkdir, readdir, realpath, rename, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { SegmentPayload } from '@svc/domain/segment'
import {
  createDirectory,
  type DeepStorage,
  errorCode,
  safeFileName,
  storageFailure,
  syncDirectory,
} from '../deep-storage/index.ts'
import { segmentFileName, writeDescriptor } from './entry-folder.ts'

/** One folder of the cache and its size limit. */
export interface Location {
  readonly path: string
  readonly maxSizeBytes: number
  /** Size of complete segments and of those being loaded: space is reserved before the first byte is copied. */
  usedSizeBytes: number
  /** Contains the folders of complete segments. */
  readonly segmentsDirectory: string
}

const segmentsDirectory = 'segments'
const loadingDirectory = 'loading'
const trashDirectory = 'trash'

/**
 * Prepares a location: creates its folders and removes anything unfinished. Throws an unavailable Failure if the folder
 * cannot be used.
 */
export async function openLocation(path: string, maxSizeBytes: number): Promise<Location> {
  try {
    await createDirectory(resolve(path, segmentsDirectory))
    for (const name of [loadingDirectory, trashDirectory]) {
      await rm(join(path, name), { recursive: true, force: true })
      await mkdir(join(path, name))
    }
    const realPath = await realpath(path)
    const segments = join(realPath, segmentsDirectory)
    return { path: realPath, maxSizeBytes, usedSizeBytes: 0, segmentsDirectory: segments }
  } catch (error) {
    throw storageFailure(`Segment cache location [${path}] cannot be used`, path, error)
  }
}

/** Returns the names of the folders that should contain complete segments. */
export async function folderNames(location: Location): Promise<string[]> {
  return (await readdir(location.segmentsDirectory)).sort()
}

/** Returns the file of a segment in this location. */
export function segmentFile(location: Location, segmentId: string): string {
  return join(location.segmentsDirectory, safeFileName(segmentId), segmentFileName)
}

/** Loads a segment from deep storage: completely or, after a failure, not at all. */
export async function loadFromDeepStorage(
  location: Location,
  payload: SegmentPayload,
  deepStorage: DeepStorage,
  signal: AbortSignal | undefined,
): Promise<void> {
  const folder = join(location.path, loadingDirectory, randomUUID())
  try {
    await mkdir(folder)
    await deepStorage.fetch(payload.loadSpec, payload.size, join(folder, segmentFileName), signal)
    await writeDescriptor(folder, payload)
    await syncDirectory(folder)
    // Renaming the folder is the atomic step that makes the segment exist here.
    await rename(folder, join(location.segmentsDirectory, safeFileName(payload.identifier)))
    await syncDirectory(location.segmentsDirectory)
  } catch (error) {
    await rm(folder, { recursive: true, force: true })
    if (signal?.aborted === true && error === signal.reason) throw error
    throw storageFailure(`Failed to write to segment cache location [${location.path}]`, location.path, error)
  }
}

/**
 * Atomically takes a folder out of the location. The returned function removes its files; otherwise, the next start
 * does. Does nothing if the folder does not exist.
 */
export async function takeOut(location: Location, folderName: string): Promise<() => Promise<void>> {
  const trash = join(location.path, trashDirectory, randomUUID())
  try {
    await rename(join(location.segmentsDirectory, folderName), trash)
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return async () => {}
    throw error
  }
  return () => rm(trash, { recursive: true, force: true })
}
