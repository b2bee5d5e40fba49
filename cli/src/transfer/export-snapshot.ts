import { createWriteStream } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { makeNewFolder } from '../home/index.ts'
import { type DocumentName, documents, type SnapshotSource } from './snapshot-source.ts'

/** What was written. */
export interface ExportResult {
  readonly folder: string
  readonly segments: number
  readonly documents: readonly string[]
}

/**
 * Writes a snapshot into a new folder, whole or not at all: it grows beside its place and takes it at the end. Throws
 * a Failure where something of that name is there already.
 */
export async function exportSnapshot(
  source: SnapshotSource,
  folder: string,
  onProgress: (segments: number) => void,
  signal: AbortSignal,
): Promise<ExportResult> {
  return makeNewFolder(folder, async (growing) => {
    const written: string[] = []
    for (const name of Object.keys(documents) as DocumentName[]) {
      signal.throwIfAborted()
      const document = await source.document(name)
      if (document === undefined) continue
      await writeFile(path.join(growing, documents[name].file), `${JSON.stringify(document, null, 2)}\n`)
      written.push(documents[name].file)
    }
    let segments = 0
    async function* lines() {
      for await (const { value } of source.segments()) {
        segments += 1
        if (segments % 10_000 === 0) onProgress(segments)
        yield `${JSON.stringify(value)}\n`
      }
    }
    await pipeline(Readable.from(lines()), createWriteStream(path.join(growing, 'segments.jsonl')), {
      signal,
    })
    return { folder, segments, documents: [...written, 'segments.jsonl'] }
  })
}
