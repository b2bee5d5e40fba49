import { type Rule, rulesTextInSlices } from '@svc/domain/rules'
import { finishInSlices } from '@svc/shared/slices'

// A list that has not changed is the same object, and every response with it contains its text.
const knownTexts = new WeakMap<readonly Rule[], Promise<string>>()

/** Returns a list of rules as JSON text, which is kept as long as the list. */
export function rulesText(list: readonly Rule[]): Promise<string> {
  const text = knownTexts.get(list) ?? finishInSlices(rulesTextInSlices(list))
  knownTexts.set(list, text)
  return text
}
