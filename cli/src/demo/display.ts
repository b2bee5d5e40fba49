import { styleText } from 'node:util'
import type { Interval } from '@svc/domain/time'
import type { Output } from '../ingest/index.ts'
import { formatSeconds } from '../terminal/index.ts'
import type { ClusterView } from './cluster-view.ts'
import {
  blockSymbols,
  minColumns,
  type PictureOptions,
  pictureOf,
  plainSymbols,
  queueText,
  stateLine,
} from './picture.ts'

/** Shows where the segments are. */
export interface DemoDisplay {
  /** Prints a permanent line, even while a picture is shown. */
  print(line: string): void
  /** Shows the state `afterMs` into a step. */
  show(view: ClusterView, afterMs: number): void
  /** Prints the final state of a step permanently. */
  settle(view: ClusterView, afterMs: number): void
}

/** Enough for one character per day and the label. */
const plainColumns = 110
const minRows = 16

const colors = { hot: 'red', _default_tier: 'yellow', cold: 'cyan' } as const

/** On a terminal that is large enough, a picture that is redrawn in place; otherwise a line for each change. */
export function openDisplay(out: Output, days: readonly Interval[]): DemoDisplay {
  const hasRoom = (out.columns ?? 0) >= minColumns && (out.rows ?? 0) >= minRows
  return out.isTTY && hasRoom ? pictureOn(out, days) : linesOn(out, days)
}

function linesOn(out: Output, days: readonly Interval[]): DemoDisplay {
  const options: PictureOptions = {
    columns: plainColumns,
    symbols: plainSymbols,
    paint: (_, text) => text,
  }
  let last = ''
  const show = (view: ClusterView, afterMs: number) => {
    const line = stateLine(view)
    if (line !== last) out.write(`${formatSeconds(afterMs).padStart(8)}  ${line}\n`)
    last = line
  }
  return {
    print: (line) => out.write(`${line}\n`),
    show,
    settle: (view, afterMs) => {
      show(view, afterMs)
      last = ''
      out.write(`\n${[...pictureOf(view, days, options), reachedLine(afterMs)].join('\n')}\n`)
    },
  }
}

function pictureOn(out: Output, days: readonly Interval[]): DemoDisplay {
  let drawn: string[] = []
  const erase = () => (drawn.length === 0 ? '' : `\x1b[${drawn.length}A\x1b[0J`)
  const draw = (lines: string[]) => {
    out.write(`${erase()}${lines.join('\n')}\n`)
    drawn = lines
  }
  const picture = (view: ClusterView) => {
    const columns = Math.max(minColumns, (out.columns ?? minColumns) - 1)
    return pictureOf(view, days, { columns, symbols: blockSymbols, paint: paintOn(out) })
  }
  return {
    print: (line) => {
      out.write(`${erase()}${line}\n`)
      const lines = drawn
      drawn = []
      if (lines.length > 0) draw(lines)
    },
    show: (view, afterMs) =>
      draw([...picture(view), `${formatSeconds(afterMs).padStart(8)}  ${queueText(view)}`]),
    settle: (view, afterMs) => {
      draw([...picture(view), reachedLine(afterMs)])
      drawn = []
    },
  }
}

function reachedLine(afterMs: number): string {
  return `${formatSeconds(afterMs).padStart(8)}  Done`
}

function paintOn(out: Output): PictureOptions['paint'] {
  return (tier, text) => {
    const color = colors[tier as keyof typeof colors]
    return color ? styleText(color, text, { stream: out as NodeJS.WriteStream }) : text
  }
}
