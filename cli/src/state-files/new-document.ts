import { Document, type Node, type Pair, Scalar, visit } from 'yaml'

/** Returns a document of YAML with these contents, without anchors and merge keys, which files of a declared state must not have. */
export function newDocument(contents: unknown): Document {
  const document = new Document(contents, { aliasDuplicateObjects: false })
  quoteMergeKeys(document)
  return document
}

/** Quotes names that would be merge keys. */
export function quoteMergeKeys(node: Document | Node | Pair): void {
  visit(node as Node, {
    Pair: (_, { key }) => {
      if (key instanceof Scalar && key.value === '<<') key.type = Scalar.QUOTE_DOUBLE
    },
  })
}
