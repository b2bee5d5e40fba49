/** The list of datasources, and the screen of one: its data and rules on one time axis. */
export { DatasourceList } from './datasource-list.tsx'
export { DatasourceScreen } from './datasource-screen.tsx'
