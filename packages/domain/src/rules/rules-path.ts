/**
 * Returns the path of the rules of a datasource. The name `history` is encoded, because the path with that word lists the changes
 * of all datasources.
 */
export const rulesPathOf = (dataSource: string): string =>
  `/svc/coordinator/v1/rules/${dataSource === 'history' ? '%68istory' : encodeURIComponent(dataSource)}`
