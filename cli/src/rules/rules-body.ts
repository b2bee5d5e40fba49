import { defaultRulesName } from '@svc/domain/rules'

/** The rules of a datasource, or the default rules, as the body of a preview request. */
export const rulesBody = (
  dataSource: string,
  rules: readonly unknown[],
): { readonly rules: object; readonly defaultRules?: readonly unknown[] } =>
  dataSource === defaultRulesName ? { rules: {}, defaultRules: rules } : { rules: { [dataSource]: rules } }
