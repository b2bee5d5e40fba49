import { escapeInvisible } from '@svc/domain/validation'
import { columnsOf, wrappedText } from '../terminal/index.ts'

/** Prints an answer as indented JSON, for `--json`. */
export function printJson(answer: unknown): void {
  process.stdout.write(`${JSON.stringify(answer, null, 2)}\n`)
}

/** Prints sentences to standard output; in a terminal, in lines that end between words. */
export function printText(sentences: readonly string[]): void {
  for (const sentence of sentences) process.stdout.write(`${inLines(sentence, process.stdout, '  ')}\n`)
}

/** Prints a sentence to standard error; in a terminal, in lines that end between words. */
export function printMessage(sentence: string): void {
  process.stderr.write(`${inLines(`svc: ${sentence}`, process.stderr, '     ')}\n`)
}

// Programs that read the output expect a sentence in one line.
function inLines(sentence: string, stream: NodeJS.WriteStream, indent: string): string {
  const safe = visibleText(sentence)
  return stream.isTTY ? wrappedText(safe, columnsOf(stream), indent) : safe
}

/** Names in a Druid cluster and in its answers may contain control sequences for the terminal. */
const visibleText = (text: string): string => text.split('\n').map(escapeInvisible).join('\n')

/** Prints progress to standard error, so that standard output stays machine-readable. */
export function printProgress(text: string): void {
  process.stderr.write(`${visibleText(text)}\n`)
}

/** Prints notices about a successful command to standard error. */
export function printNotices(notices: readonly string[]): void {
  for (const notice of notices) printMessage(`Notice: ${notice}`)
}

/** Prints measured figures, as JSON or colored for a reader. */
export function printFigures(figures: object, json: boolean | undefined): void {
  if (json) printJson(figures)
  else console.dir(figures, { depth: null })
}
