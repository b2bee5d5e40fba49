import { readFile } from 'node:fs/promises'
import type { OpenApiDocument } from './openapi-document.ts'

/** The interface of all servers as it is written down: each of them has only its own routes. */
export interface StoredDocument {
  /** The JSON text. */
  readonly text: string
  readonly document: OpenApiDocument
}

// `./svc dev docs` writes it.
const documentFile = new URL('openapi.json', import.meta.url)

let stored: Promise<StoredDocument> | undefined

/** The stored document of the whole interface, read when first asked for: most servers never are. */
export function readStoredDocument(): Promise<StoredDocument> {
  stored ??= readFile(documentFile, 'utf8').then((text) => ({ text, document: JSON.parse(text) }))
  return stored
}
