/** For tests of commands: clients, and Druid configurations for ./svc doctor. */
export { type ClusterConfiguration, type ConfiguredCluster, configuredCluster } from './configured-cluster.ts'
export * from './doctor-configurations.ts'
export { doctorOutputs } from './doctor-outputs.ts'
export { testClient } from './test-client.ts'
