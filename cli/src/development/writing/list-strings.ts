import { ascending } from '@svc/domain/order'
import { findSources, readSource } from '../source-files.ts'
import { type StringKind, stringKinds } from './call-sites.ts'
import { type FoundString, findStrings } from './find-strings.ts'
import { textsOfLines } from './line-texts.ts'

/** A user-facing string; `file` is relative to the repository. */
export interface ListedString extends FoundString {
  readonly file: string
}

const parsedSources = [
  '{packages,services}/*/src/**/*.ts',
  '{cli,container}/src/**/*.ts',
  'console/src/**/*.{ts,tsx}',
  'clients/node/src/*.ts',
  'test/faults/main.ts',
  'launcher/*.mjs',
  'deploy/github/*.mjs',
  'deploy/monitoring/dashboard.json',
]
const lineSources = ['svc', 'deploy/monitoring/alerts.yml']

/** Tests, their helpers, and the list of phrases to replace: users see none of their strings. */
const notShown = /\.test\.ts$|\.d\.ts$|\/testing\/|\/test-[^/]+\.ts$|\/writing\/phrases\.ts$/

/** Returns every user-facing string of the source, sorted by kind, file and line. */
export function readStrings(): readonly ListedString[] {
  const parsed = findSources(parsedSources).filter((file) => !notShown.test(file))
  const found = [
    ...parsed.flatMap((file) => findStrings(file, readSource(file)).map((text) => ({ file, ...text }))),
    ...findSources(lineSources).flatMap((file) =>
      textsOfLines(file, readSource(file)).map((text) => ({ file, ...text })),
    ),
  ]
  return found.sort(
    (a, b) =>
      stringKinds.indexOf(a.kind) - stringKinds.indexOf(b.kind) ||
      ascending(a.file, b.file) ||
      a.line - b.line,
  )
}

/** Returns lines `file:line  text` under a heading for each kind. */
export function formatStrings(strings: readonly ListedString[]): string {
  const kinds = stringKinds.filter((kind) => strings.some((each) => each.kind === kind))
  return kinds.map((kind) => formatKind(kind, strings)).join('\n')
}

function formatKind(kind: StringKind, strings: readonly ListedString[]): string {
  const ofKind = strings.filter((each) => each.kind === kind)
  const lines = ofKind.map(({ file, line, text }) => `  ${file}:${line}  ${inOneLine(text)}\n`)
  return `${kind} (${ofKind.length})\n${lines.join('')}`
}

const inOneLine = (text: string): string =>
  text.replaceAll('\n', String.raw`\n`).replaceAll('\t', String.raw`\t`)
