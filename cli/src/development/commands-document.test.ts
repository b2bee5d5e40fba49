import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { Command } from 'commander'
import { addCommands } from '../commands/index.ts'
import { repositoryRoot } from '../home/index.ts'
import { commandsDocument } from './commands-document.ts'

test('docs/commands.md is up to date', () => {
  const program = new Command('svc')
  addCommands(program)
  const page = readFileSync(path.join(repositoryRoot, 'docs/commands.md'), 'utf8')
  assert.ok(commandsDocument(program) === page, 'write it with ./svc dev docs')
})
