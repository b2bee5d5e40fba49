/** Prints an answer as JSON that people can read too: what `--json` asks for. */
export function printJson(answer: unknown): void {
  process.stdout.write(`${JSON.stringify(answer, null, 2)}\n`)
}

/** Tells where long work is, on standard error, so that what is printed can be read on by others. */
export function tellProgress(text: string): void {
  process.stderr.write(`${text}\n`)
}

/** Tells what people should know though nothing failed, on standard error. */
export function tellNotices(notices: readonly string[]): void {
  for (const notice of notices) process.stderr.write(`svc: notice: ${notice}\n`)
}

/** Prints measured figures: as JSON, or coloured for a reader. */
export function printFigures(figures: object, json: boolean | undefined): void {
  if (json) printJson(figures)
  else console.dir(figures, { depth: null })
}
