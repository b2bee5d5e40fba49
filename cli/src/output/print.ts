/** Prints an answer as indented JSON, for `--json`. */
export function printJson(answer: unknown): void {
  process.stdout.write(`${JSON.stringify(answer, null, 2)}\n`)
}

/** Prints progress to standard error, so that standard output stays machine-readable. */
export function printProgress(text: string): void {
  process.stderr.write(`${text}\n`)
}

/** Prints notices about a successful command to standard error. */
export function printNotices(notices: readonly string[]): void {
  for (const notice of notices) process.stderr.write(`svc: Notice: ${notice}\n`)
}

/** Prints measured figures, as JSON or colored for a reader. */
export function printFigures(figures: object, json: boolean | undefined): void {
  if (json) printJson(figures)
  else console.dir(figures, { depth: null })
}
