/** Clients for tests of commands. */
export { type ClusterConfiguration, type ConfiguredCluster, configuredCluster } from './configured-cluster.ts'
export { testClient } from './test-client.ts'
