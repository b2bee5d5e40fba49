const withoutText = new Set(['button', 'checkbox', 'file', 'radio', 'range', 'submit'])

/** Whether keys that are pressed in an element are its text or its choice, so they mean nothing else. */
export function isTyping(target: EventTarget | null): boolean {
  if (target instanceof HTMLInputElement) return !withoutText.has(target.type)
  return target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement
}
