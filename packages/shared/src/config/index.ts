/** The configuration of a server: its properties, read from files and the environment, and their problems. */

export { allowsAnonymous, requiresLogin, storesUsers, usesLdap } from './authenticators.ts'
export { type DirectoryAddress, directoryAddress } from './directory-address.ts'
export { ConfigurationError, loadSettings } from './load-settings.ts'
export { internalNetworks } from './login-problems.ts'
export { definitionOf, minTaskMemoryBytes, properties, type Role, roles } from './properties.ts'
export { propertiesDocument } from './properties-document.ts'
export { type PropertyLine, propertyLines } from './property-lines.ts'
export {
  maxVirtualServers,
  readVirtualServerGroups,
  type VirtualServerGroup,
  virtualServerGroups,
} from './property-types.ts'
export type { Settings } from './settings.ts'
export { settingsNotices } from './settings-notices.ts'
