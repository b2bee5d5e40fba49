import {
  defaultClusterConfig,
  parseClusterConfig,
  parseCompactionConfig,
  parseCompactionPreview,
} from '@svc/domain/compaction'
import { invalidInput } from '@svc/domain/failure'
import { isJsonObject, type JsonObject } from '@svc/domain/validation'
import { type ClusterClient, inputName, parseInputJson, readInputText } from '../client/index.ts'
import { compactionClusterPath } from '../live-state/index.ts'

const isConfig = (json: unknown): json is JsonObject =>
  isJsonObject(json) && Object.hasOwn(json, 'dataSource')

/**
 * The preview request for the JSON of a file: a complete request, the cluster configuration, one datasource
 * configuration, or a list of them. Throws the Failure with which the cluster would reject the request.
 */
export function previewRequest(json: unknown): object {
  const request = isConfig(json)
    ? { compactionConfigs: [json] }
    : Array.isArray(json)
      ? { compactionConfigs: json }
      : json
  parseCompactionPreview(request)
  return request as object
}

/** A configuration to store. */
export interface ConfigToSet {
  /** Undefined for the cluster configuration. */
  readonly dataSource: string | undefined
  readonly config: object
}

/** The configurations in a file: that of one datasource, a list of these, or that of the cluster. */
export function configsToSet(json: unknown): ConfigToSet[] {
  const list = Array.isArray(json) ? json : [json]
  const configs = list.map((one, index) => {
    if (!isJsonObject(one) || (Array.isArray(json) && !isConfig(one))) {
      const place = Array.isArray(json) ? `[${index}]` : 'the file'
      throw invalidInput(
        `Invalid configuration in ${place}: expected an object with a dataSource, a list of such objects, or the cluster configuration`,
      )
    }
    if (!isConfig(one)) {
      // The engine msq requires supervisors, which the cluster may already use.
      parseClusterConfig({ useSupervisors: true, ...(one as object) })
      return { dataSource: undefined, config: one }
    }
    const { dataSource } = parseCompactionConfig(one, Array.isArray(json) ? `[${index}]` : '')
    return { dataSource, config: one }
  })
  const names = configs.map(({ dataSource }) => dataSource)
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  if (twice !== undefined)
    throw invalidInput(`Duplicate datasource [${twice}]: expected each datasource only once`)
  return configs
}

/**
 * The preview request with the cluster configuration in full: fields that it omits are those of the cluster. The request
 * contains the configuration or, as in Druid 37, is the configuration itself.
 */
export async function withClusterConfig(client: ClusterClient, request: object): Promise<object> {
  const { clusterConfig, ...others } = request as { readonly clusterConfig?: object }
  const isConfig = Object.keys(others).some((name) => Object.hasOwn(defaultClusterConfig, name))
  if (clusterConfig === undefined && !isConfig) return request
  const present = (await client.send('GET', compactionClusterPath)) as object
  return isConfig ? { ...present, ...others } : { ...others, clusterConfig: { ...present, ...clusterConfig } }
}

/** The preview request with a number of task slots of all workers. */
export function withSlots(request: object, workerCapacity: number | undefined): object {
  if (workerCapacity === undefined) return request
  const isConfig = Object.keys(request).some((name) => Object.hasOwn(defaultClusterConfig, name))
  return isConfig ? { clusterConfig: request, workerCapacity } : { ...request, workerCapacity }
}

/** The JSON of a file, or of standard input for `-`. */
export function readJsonFile(file: string): unknown {
  return parseInputJson(readInputText(file, 'contents'), 'contents', inputName(file))
}
