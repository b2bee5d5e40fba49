import type { RuleJson } from '@svc/domain/rules'
import { useEffect, useState } from 'react'
import { hasCluster, inBytes } from '../session/index.ts'
import type { RulesEdit } from './use-rules-edit.ts'

// Servers never receive the part of an address after #.
const marker = ';rules='

/** Returns the screen of a datasource with edited rules, for a link in the page. */
export function screenWithRules(dataSource: string, rules: readonly RuleJson[]): string {
  const encoded = btoa(inBytes(JSON.stringify(rules)))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '')
  const screen = `/datasources/${encodeURIComponent(dataSource)}`
  return hasCluster() ? `${screen}#${marker}${encoded}` : `${screen}${marker}${encoded}`
}

/** Returns an address that opens a datasource with edited rules. */
export function linkToRules(dataSource: string, rules: readonly RuleJson[]): string {
  const screen = screenWithRules(dataSource, rules)
  return hasCluster()
    ? `${location.origin}/console${screen}`
    : `${location.origin}${location.pathname}#${screen}`
}

/** Starts an edit with the rules in the address of the page. Returns whether they are damaged. */
export function useLinkedRules({ replace }: RulesEdit): boolean {
  const [isDamaged, setIsDamaged] = useState(false)
  useEffect(() => {
    const read = () => {
      const [, encoded] = location.hash.split(marker)
      if (encoded === undefined) return
      const rules = decoded(encoded)
      setIsDamaged(rules === undefined)
      if (rules !== undefined) replace(rules)
    }
    read()
    addEventListener('hashchange', read)
    return () => removeEventListener('hashchange', read)
    // The functions of an edit change with every step, but do the same.
  }, [])
  return isDamaged
}

function decoded(encoded: string): readonly RuleJson[] | undefined {
  try {
    const bytes = atob(encoded.replaceAll('-', '+').replaceAll('_', '/'))
    const text = new TextDecoder().decode(Uint8Array.from(bytes, (byte) => byte.charCodeAt(0)))
    const list = JSON.parse(text) as unknown
    const isList =
      Array.isArray(list) &&
      list.every((rule) => typeof (rule as { type?: unknown } | null)?.type === 'string')
    return isList ? (list as readonly RuleJson[]) : undefined
  } catch {
    return undefined
  }
}
