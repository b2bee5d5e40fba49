import type { FoundString } from './find-strings.ts'
import { placeholder } from './prose.ts'

/** Returns the summaries and descriptions of alert rules (`.yml`), or what a shell script prints with `echo`. */
export function textsOfLines(file: string, text: string): readonly FoundString[] {
  return text.split('\n').flatMap((content, index): readonly FoundString[] => {
    const line = index + 1
    if (file.endsWith('.yml')) {
      const value = /^\s+(?:summary|description): (.*)$/.exec(content)?.[1]
      return value === undefined ? [] : [{ kind: 'monitoring', line, text: value.replace(/^"(.*)"$/, '$1') }]
    }
    const printed = /\becho "(.*?[^\\])"( |$)/.exec(content)?.[1]
    if (printed === undefined) return []
    const shown = printed.replaceAll(/\$\{[^}]*\}|\$\w+/g, () => placeholder).replaceAll('\\"', '"')
    return [{ kind: 'error', line, text: shown }]
  })
}
