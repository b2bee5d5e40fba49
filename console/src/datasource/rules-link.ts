import type { RuleJson } from '@svc/domain/rules'
import { useEffect, useEffectEvent, useState } from 'react'
import { datasourceAddress } from '../location.ts'
import { hasCluster } from '../session/index.ts'
import { type ParsedList, parseList } from './parsed-rules.ts'
import { encodedRules, type LinkedRules, rulesInLink, shortEncodedRules } from './rules-encoding.ts'
import type { RulesEdit } from './use-rules-edit.ts'

// Servers never receive the part of an address after #.
const marker = ';rules='

/** Returns the screen of a datasource with edited rules, for a link in the page. */
export function screenWithRules(dataSource: string, rules: readonly RuleJson[]): string {
  return screenWith(dataSource, encodedRules(rules))
}

const screenWith = (dataSource: string, encoded: string): string =>
  `${datasourceAddress(dataSource)}${hasCluster() ? '#' : ''}${marker}${encoded}`

/** Returns an address that opens a datasource with edited rules. */
export async function linkToRules(dataSource: string, rules: readonly RuleJson[]): Promise<string> {
  const screen = screenWith(dataSource, await shortEncodedRules(rules))
  return hasCluster()
    ? `${location.origin}/console${screen}`
    : `${location.origin}${location.pathname}#${screen}`
}

/**
 * Starts an edit with the rules in the address of the page. Returns why they cannot be shown, or what is wrong with them
 * until the edit is valid.
 */
export function useLinkedRules({ step }: RulesEdit, parsed: ParsedList): string | undefined {
  const [problem, setProblem] = useState<string>()
  const [isInvalid, setIsInvalid] = useState(false)
  if (isInvalid && 'rules' in parsed) setIsInvalid(false)
  const show = useEffectEvent((linked: LinkedRules) => {
    setProblem('problem' in linked ? linked.problem : undefined)
    if (!('rules' in linked)) return
    step({ kind: 'replace', list: linked.rules })
    setIsInvalid('problem' in parseList(linked.rules))
  })
  useEffect(() => {
    let reads = 0
    const read = async () => {
      const [before, encoded] = location.hash.split(marker)
      if (encoded === undefined) return
      // The edit is now in the memory of the page. Coming back to this address must not start it again.
      history.replaceState(null, '', before === '' || before === '#' ? location.pathname : before)
      reads += 1
      const own = reads
      const linked = await rulesInLink(encoded)
      // A later link may have been read faster.
      if (own === reads) show(linked)
    }
    const start = () => void read()
    start()
    addEventListener('hashchange', start)
    return () => removeEventListener('hashchange', start)
  }, [])
  if (!isInvalid || 'rules' in parsed) return problem
  return `The rules in this link are invalid: ${parsed.problem.replace(/\.$/, '')}. Fix or discard the edit. Until then, the numbers shown are from the stored rules.`
}
