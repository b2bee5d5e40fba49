import { nameParts, type Phrase, phrases } from './phrases.ts'
import { readableText } from './readable-text.ts'

/** A phrase to replace, the line (from 1) where it begins, and what to write instead. */
export interface FoundPhrase {
  readonly line: number
  readonly phrase: string
  readonly instead: string
}

/** Returns the phrases to replace in a source file, given its path (with slashes) and its content, in order. */
export function findPhrases(file: string, text: string): readonly FoundPhrase[] {
  const { prose, names } = readableText(file, text)
  const found = [
    ...phrases.flatMap((phrase) =>
      [...prose.matchAll(searched(phrase))].map((match) => ({
        offset: match.index,
        match: match[0],
        phrase,
      })),
    ),
    ...firstOfEach(names).flatMap(({ name, offset }) =>
      nameParts
        .filter(({ pattern }) => pattern.test(name))
        .map((phrase) => ({ offset, match: name, phrase })),
    ),
  ]
  const lineAt = lineFinder(text)
  return found
    .sort((a, b) => a.offset - b.offset)
    .map(({ offset, match, phrase }) => ({
      line: lineAt(offset + (match.length - match.trimStart().length)),
      phrase: match.replaceAll('\0', ' ').replaceAll(/\s+/g, ' ').trim(),
      instead: phrase.instead,
    }))
}

/** Returns the pattern of a phrase for `matchAll`. */
export function searched({ pattern }: Phrase): RegExp {
  const flags = pattern.flags.includes('v') ? 'gv' : 'gi'
  return new RegExp(pattern.source.replaceAll(/(?<!\[[^\]]*) (?!\?)/g, String.raw`\s+`), flags)
}

/** Keeps the first use of each identifier: it is renamed once. */
function firstOfEach<Named extends { readonly name: string }>(names: readonly Named[]): readonly Named[] {
  const seen = new Set<string>()
  return names.filter(({ name }) => !seen.has(name) && seen.add(name))
}

function lineFinder(text: string): (offset: number) => number {
  const starts = [0]
  for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', end + 1)) starts.push(end + 1)
  return (offset) => starts.findLastIndex((start) => start <= offset) + 1
}
