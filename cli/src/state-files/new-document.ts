import { Document } from 'yaml'

/** Returns a document of YAML with these contents, without anchors, which files of a declared state must not have. */
export const newDocument = (contents: unknown): Document =>
  new Document(contents, { aliasDuplicateObjects: false })
