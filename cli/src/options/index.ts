/** Options that several commands have, and how their values are read. */
export {
  accessOf,
  type ConnectionOptions,
  connect,
  loginOf,
  withConnection,
  withSvcConnection,
} from './connection-options.ts'
export { type FailOnOption, failOnOption } from './fail-on-option.ts'
export { existingHome, parseHome, selectAnother, withHome } from './home-option.ts'
export { parseInteger, parsePositiveInteger } from './integer.ts'
export { newPasswordOption, readNewPassword } from './new-password.ts'
export { type OverridePolicyOption, overridePolicyOption } from './override-policy-option.ts'
export { collect } from './repeatable-option.ts'
export { openSource, type SourceOptions, withSource } from './source-options.ts'
