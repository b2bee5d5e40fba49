import path from 'node:path'
import { listOf, type Server } from './configuration.ts'

/** The extensions of Druid and its community, whose types of authenticators, authorizers, and escalators are known. */
const druidExtensions: ReadonlySet<string> = new Set([
  'aliyun-oss-extensions',
  'ambari-metrics-emitter',
  'dropwizard-emitter',
  'druid-avro-extensions',
  'druid-aws-rds-extensions',
  'druid-azure-extensions',
  'druid-basic-security',
  'druid-bloom-filter',
  'druid-cassandra-storage',
  'druid-catalog',
  'druid-cloudfiles-extensions',
  'druid-compressed-bigdecimal',
  'druid-datasketches',
  'druid-ddsketch',
  'druid-deltalake-extensions',
  'druid-distinctcount',
  'druid-ec2-extensions',
  'druid-exact-count-bitmap',
  'druid-google-extensions',
  'druid-hdfs-storage',
  'druid-histogram',
  'druid-iceberg-extensions',
  'druid-influx-extensions',
  'druid-influxdb-emitter',
  'druid-kafka-extraction-namespace',
  'druid-kafka-indexing-service',
  'druid-kerberos',
  'druid-kinesis-indexing-service',
  'druid-kubernetes-extensions',
  'druid-kubernetes-overlord-extensions',
  'druid-lookups-cached-global',
  'druid-lookups-cached-single',
  'druid-momentsketch',
  'druid-moving-average-query',
  'druid-multi-stage-query',
  'druid-opa-authorizer',
  'druid-opentsdb-emitter',
  'druid-orc-extensions',
  'druid-pac4j',
  'druid-parquet-extensions',
  'druid-protobuf-extensions',
  'druid-rabbit-indexing-service',
  'druid-ranger-security',
  'druid-redis-cache',
  'druid-s3-extensions',
  'druid-spectator-histogram',
  'druid-stats',
  'druid-tdigestsketch',
  'druid-testing-tools',
  'druid-thrift-extensions',
  'druid-time-min-max',
  'gce-extensions',
  'graphite-emitter',
  'kafka-emitter',
  'materialized-view-maintenance',
  'materialized-view-selection',
  'mysql-metadata-storage',
  'openlineage-emitter',
  'postgresql-metadata-storage',
  'prometheus-emitter',
  'simple-client-sslcontext',
  'sqlserver-metadata-storage',
  'statsd-emitter',
])

/** The extension that each type of authenticator is in; the others are always available. */
export const extensionOfType: Readonly<Record<string, string>> = {
  basic: 'druid-basic-security',
  kerberos: 'druid-kerberos',
  pac4j: 'druid-pac4j',
  jwt: 'druid-pac4j',
}

/** The extension that reads the properties `druid.client.https.*`. */
export const clientExtension = 'simple-client-sslcontext'

/** Returns the names of the extensions that a server loads, which may be listed by path; undefined if it loads all that it has. */
export const loadedExtensions = (server: Server): readonly string[] | undefined =>
  listOf(server, 'druid.extensions.loadList')?.map((entry) => path.posix.basename(entry))

/** Returns whether the list of extensions of a server has one that is not part of Druid. It may add types. */
export const mayLoadOtherExtensions = (server: Server): boolean =>
  server.properties.has('druid.extensions.loadList') &&
  !loadedExtensions(server)?.every((extension) => druidExtensions.has(extension))
