import { fromMarkdown } from 'mdast-util-from-markdown'
import { gap } from './compare-output.ts'

/** A block of commands, in the order of the page, with the output that the page shows for it. */
export interface CommandBlock {
  /** Line of the page with the first command, counted from 1. */
  readonly line: number
  readonly commands: string
  /** Exit status of the last command. */
  readonly exitStatus: number
  /** Machine to run on, for pages about several machines. */
  readonly machine: string | undefined
  /** Why the block is not run; undefined if it is. */
  readonly notRun: string | undefined
  readonly output: ShownOutput | undefined
}

/** The output that a page shows, and its position in the page. */
export interface ShownOutput {
  /** Line of the page on which the output begins, counted from 1. */
  readonly line: number
  readonly text: string
  /** Where the lines of the output begin, and where the closing fence begins. */
  readonly startOffset: number
  readonly endOffset: number
}

/** A page with its commands. */
export interface Page {
  /** The suite that runs the page: `docs` unless the page names another one. */
  readonly suite: string
  readonly blocks: readonly CommandBlock[]
}

type Node = ReturnType<typeof fromMarkdown>['children'][number]
type CodeNode = Extract<Node, { type: 'code' }>

const suiteComment = /^<!-- Commands run by: npm run test:([a-z]+)/
const shellNames = new Set(['bash', 'console', 'shell', 'shell-session', 'zsh'])
const optionPattern = /(exit|on|not-run)=(?:"([^"]*)"|(\S+))\s*/y

/**
 * Reads the command blocks of a Markdown page: fenced `sh` blocks at the top level of the page, each with the
 * `text` block that directly follows it as its output. Options follow the language, where readers do not see
 * them: `exit=1`, `on=machine-1`, `not-run="why"`. Throws an Error with the line of a block that would escape
 * the test.
 */
export function readPage(markdown: string): Page {
  const nodes = fromMarkdown(markdown).children
  const blocks = nodes.flatMap((node, index) => {
    refuseNestedCode(node)
    if (node.type !== 'code') return []
    refuseUnreadableCode(node, markdown)
    return node.lang === 'sh' ? [readBlock(node, nodes[index + 1], markdown)] : []
  })
  const comments = nodes.flatMap((node) => (node.type === 'html' ? [suiteComment.exec(node.value)?.[1]] : []))
  return { suite: comments.find((suite) => suite !== undefined) ?? 'docs', blocks }
}

/** Returns the page with new outputs; `undefined` leaves an output unchanged. */
export function withOutputs(markdown: string, page: Page, outputs: readonly (string | undefined)[]): string {
  const changes = page.blocks.flatMap(({ output }, index) => {
    const text = outputs[index]
    return output && text !== undefined ? [{ ...output, text }] : []
  })
  return changes.reduceRight(
    (text, change) => `${text.slice(0, change.startOffset)}${change.text}\n${text.slice(change.endOffset)}`,
    markdown,
  )
}

function readBlock(node: CodeNode, next: Node | undefined, markdown: string): CommandBlock {
  const line = node.position!.start.line + 1
  const options = readOptions(node.meta ?? '', line - 1)
  return {
    line,
    commands: node.value,
    exitStatus: Number(options.get('exit') ?? 0),
    machine: options.get('on'),
    notRun: options.get('not-run'),
    output: next?.type === 'code' && next.lang === 'text' ? readOutput(next, markdown) : undefined,
  }
}

function readOutput(node: CodeNode, markdown: string): ShownOutput {
  const { start, end } = node.position!
  if (node.value === gap)
    throw new Error(`line ${start.line}: the output shows no line; show the lines that matter`)
  return {
    line: start.line + 1,
    text: node.value,
    startOffset: markdown.indexOf('\n', start.offset) + 1,
    endOffset: markdown.lastIndexOf('\n', end.offset! - 1) + 1,
  }
}

function readOptions(meta: string, line: number): Map<string, string> {
  const options = new Map<string, string>()
  optionPattern.lastIndex = 0
  let position = 0
  for (let found = optionPattern.exec(meta); found; found = optionPattern.exec(meta)) {
    options.set(found[1]!, found[2] ?? found[3]!)
    position = optionPattern.lastIndex
  }
  if (position !== meta.length) throw new Error(`line ${line}: unknown option of a command block [${meta}]`)
  return options
}

function refuseUnreadableCode(node: CodeNode, markdown: string): void {
  const { start, end } = node.position!
  const source = markdown.slice(start.offset, end.offset)
  if (!source.startsWith('```')) throw new Error(`line ${start.line}: indented code; use a fenced block`)
  if (!source.endsWith('```')) throw new Error(`line ${start.line}: the code block has no end`)
  if (shellNames.has(node.lang ?? ''))
    throw new Error(`line ${start.line}: code in [${node.lang}]; put commands in [sh] blocks`)
}

function refuseNestedCode(node: Node): void {
  if (!('children' in node)) return
  for (const child of node.children as readonly Node[]) {
    if (child.type === 'code')
      throw new Error(
        `line ${child.position!.start.line}: code inside a list or quote; put it at the top level`,
      )
    refuseNestedCode(child)
  }
}
