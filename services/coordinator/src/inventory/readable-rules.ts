import { defaultRulesName, type RulesByName } from '@svc/domain/rules'

/** Returns whether a caller that may read some datasources may read the rules under a name: everyone may read the cluster default rules. */
export const readsRules =
  (readsDatasource: (dataSource: string) => boolean) =>
  (name: string): boolean =>
    name === defaultRulesName || readsDatasource(name)

/** Returns the rules that a caller that may read some datasources may read. */
export function readableRules(
  rules: RulesByName,
  readsDatasource: (dataSource: string) => boolean,
): RulesByName {
  const isReadable = readsRules(readsDatasource)
  return new Map([...rules].filter(([name]) => isReadable(name)))
}
