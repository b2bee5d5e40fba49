import { readFileSync } from 'node:fs'
import path from 'node:path'
import { repositoryRoot } from '@svc/cli/home'
import { gap } from './compare-output.ts'
import { drawTerminal } from './draw-terminal.ts'
import { readPage } from './read-page.ts'

/** Path of README's picture. */
export const pictureFile = path.join(repositoryRoot, 'docs/rules-preview.svg')

const page = 'docs/how-to/rehearse-a-rule-change.md'

/** Draws the rule preview in a how-to page, which is the actual output of the last run. */
export function drawPicture(): string {
  const { blocks } = readPage(readFileSync(path.join(repositoryRoot, page), 'utf8'))
  const preview = blocks.find(({ commands }) => commands.includes('./svc rules preview'))
  if (!preview?.output) throw new Error(`${page}: shows no preview of rules`)
  const command = './svc rules preview new-rules.json --datasource flights --now 2001-04-01'
  // Readers of the picture do not need to know which lines the page leaves out.
  const lines = preview.output.text.trimEnd().split('\n')
  return drawTerminal(command, lines.filter((line) => line !== gap).join('\n'), 80)
}
