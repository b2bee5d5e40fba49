import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatRule, parseRules } from '@svc/domain/rules'
import { rulesText } from './rules-text.ts'

test('formats a list once for all readers', async () => {
  const list = parseRules([{ type: 'dropByPeriod', period: 'P1D' }, { type: 'loadForever' }])
  assert.equal(rulesText(list), rulesText(list))
  assert.equal(await rulesText(list), JSON.stringify(list.map(formatRule)))
  assert.equal(await rulesText([]), '[]')
})
