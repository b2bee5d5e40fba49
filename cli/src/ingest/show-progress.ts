import { columnsOf, formatSeconds, progressBar, solidBar } from '../terminal/index.ts'
import { type IngestPhase, progressOf } from './progress-text.ts'

/** An output stream, possibly a terminal, whose size may change. */
export type Output = NodeJS.WritableStream & {
  readonly isTTY?: boolean | undefined
  readonly columns?: number | undefined
  readonly rows?: number | undefined
}

/** Shows the progress of an ingestion. */
export interface ProgressDisplay {
  show(phase: IngestPhase): void
  /** Prints a permanent line. */
  print(line: string): void
  /** Erases the progress bar. */
  end(): void
}

const barWidth = 24
const redrawMs = 200

/** On a terminal, a bar that is redrawn in place; otherwise a line for each change. */
export function showProgress(out: Output): ProgressDisplay {
  return out.isTTY ? barOn(out) : linesOn(out)
}

function linesOn(out: Output): ProgressDisplay {
  const startedAt = performance.now()
  let last = ''
  return {
    show: (phase) => {
      const { fraction, text } = progressOf(phase)
      const line = `${percentText(fraction)}  ${text}`
      if (line !== last) out.write(`${formatSeconds(performance.now() - startedAt).padStart(8)}  ${line}\n`)
      last = line
    },
    print: (line) => out.write(`${line}\n`),
    end: () => undefined,
  }
}

function barOn(out: Output): ProgressDisplay {
  const startedAt = performance.now()
  let shown: IngestPhase | undefined
  const draw = () => {
    if (!shown) return
    const { fraction, text } = progressOf(shown)
    const time = formatSeconds(performance.now() - startedAt).padStart(8)
    const line = `${time}  ${progressBar(fraction, barWidth, solidBar)} ${percentText(fraction)}  ${text}`
    out.write(`\r\x1b[K${line.slice(0, columnsOf(out) - 1)}`)
  }
  // Keeps the elapsed time current.
  const timer = setInterval(draw, redrawMs)
  const erase = () => {
    if (shown) out.write('\r\x1b[K')
  }
  return {
    show: (phase) => {
      shown = phase
      draw()
    },
    print: (line) => {
      erase()
      out.write(`${line}\n`)
      draw()
    },
    end: () => {
      clearInterval(timer)
      erase()
      shown = undefined
    },
  }
}

function percentText(fraction: number): string {
  return `${Math.floor(fraction * 100)}%`.padStart(4)
}
