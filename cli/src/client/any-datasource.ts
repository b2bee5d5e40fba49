/**
 * A datasource that does not exist. Clusters return the rules of any name, even if no such datasource exists, unless the user
 * may not read it. So a user who may read the rules of this one may usually read every datasource.
 */
export const anyDatasource = 'svc-import-any-datasource'
