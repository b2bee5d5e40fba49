import ts from 'typescript'
import { findSources, readSource } from './source-files.ts'

const maxLines = 70

const checkedFiles = [
  '{packages,services}/*/src/**/*.ts',
  '{cli,container}/src/**/*.ts',
  'console/{src/**/*.{ts,tsx},*.ts}',
  'clients/*/src/**/*.ts',
  'deploy/**/*.mjs',
  'launcher/**/*.{mjs,mts}',
  'test/**/*.{ts,cjs}',
]
// A test reads best from top to bottom, however long it is. Both files declare tests for others to run.
const notChecked = [
  '**/*.test.ts',
  'packages/shared/src/testing/describe-file-store.ts',
  'test/support/s3-cases.ts',
]

/** A function with more lines than allowed, with the line (from 1) where it begins. */
export interface LongFunction {
  readonly name: string
  readonly line: number
  readonly lines: number
}

/** Returns the functions of a source text that have more than 70 lines, with their comments and inner functions. */
export function longFunctions(file: string, text: string): readonly LongFunction[] {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true)
  const found: LongFunction[] = []
  const visit = (node: ts.Node): void => {
    if (ts.isFunctionLike(node) && 'body' in node) {
      const first = source.getLineAndCharacterOfPosition(node.getStart()).line
      const lines = source.getLineAndCharacterOfPosition(node.getEnd()).line - first + 1
      if (lines > maxLines) found.push({ name: nameOf(node), line: first + 1, lines })
    }
    ts.forEachChild(node, visit)
  }
  visit(source)
  return found
}

function nameOf(node: ts.SignatureDeclaration): string {
  const { name, parent } = node
  return (name ?? (ts.isVariableDeclaration(parent) ? parent.name : undefined))?.getText() ?? 'anonymous'
}

/** Returns the files of the product and the test helpers whose functions are checked. */
export const filesWithFunctions = (): readonly string[] => findSources(checkedFiles, notChecked)

/** Returns a line `file:line  …` for each function that is too long. */
export function checkFunctions(): readonly string[] {
  return filesWithFunctions().flatMap((file) =>
    longFunctions(file, readSource(file)).map(
      ({ name, line, lines }) =>
        `${file}:${line}  function [${name}] has [${lines}] lines, expected at most [${maxLines}]`,
    ),
  )
}
