import { styleText } from 'node:util'
import type { Interval } from '@svc/domain/time'
import type { Output } from '../ingest/index.ts'
import { formatSeconds } from '../terminal/index.ts'
import type { ClusterView } from './cluster-view.ts'
import {
  blockSymbols,
  LEAST_COLUMNS,
  type PictureOptions,
  pictureOf,
  plainSymbols,
  queueText,
  stateLine,
} from './picture.ts'

/** Shows what happens to the segments. */
export interface DemoDisplay {
  /** A line that stays, also while a picture is shown. */
  print(line: string): void
  /** The state `afterMs` into a step. */
  show(view: ClusterView, afterMs: number): void
  /** The last state of a step, which stays. */
  settle(view: ClusterView, afterMs: number): void
}

/** A day a character takes this many, with what stands before it. */
const PLAIN_COLUMNS = 110
const LEAST_ROWS = 16

const colours = { hot: 'red', _default_tier: 'yellow', cold: 'cyan' } as const

/** A picture that changes in place on a terminal with room for it; elsewhere a line for each change. */
export function openDisplay(out: Output, days: readonly Interval[]): DemoDisplay {
  const hasRoom = (out.columns ?? 0) >= LEAST_COLUMNS && (out.rows ?? 0) >= LEAST_ROWS
  return out.isTTY && hasRoom ? pictureOn(out, days) : linesOn(out, days)
}

function linesOn(out: Output, days: readonly Interval[]): DemoDisplay {
  const options: PictureOptions = {
    columns: PLAIN_COLUMNS,
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
    const columns = Math.max(LEAST_COLUMNS, (out.columns ?? LEAST_COLUMNS) - 1)
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
  return `${formatSeconds(afterMs).padStart(8)}  reached`
}

function paintOn(out: Output): PictureOptions['paint'] {
  return (tier, text) => {
    const colour = colours[tier as keyof typeof colours]
    return colour ? styleText(colour, text, { stream: out as NodeJS.WriteStream }) : text
  }
}
