import { parseCompactionPreview } from '@svc/domain/compaction'
import { parseClusterConfig, parseCompactionConfig } from '@svc/domain/compaction-config'
import { invalidInput } from '@svc/domain/failure'
import { isJsonObject, type JsonObject } from '@svc/domain/validation'
import { inputName, parseInputJson, readInputText } from '../client/index.ts'

const isConfig = (json: unknown): json is JsonObject =>
  isJsonObject(json) && Object.hasOwn(json, 'dataSource')

/**
 * What a preview is to be sent for the JSON of a file: a request as the interface takes it, the cluster configuration
 * alone, one datasource configuration, or a list of them. What would be refused is told here, in the same words.
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

/** A configuration to be set, and where. */
export interface ConfigToSet {
  /** Undefined for the cluster's. */
  readonly dataSource: string | undefined
  readonly config: object
}

/** The configurations of a file: of one datasource, of several in a list, or of the cluster. */
export function configsToSet(json: unknown): ConfigToSet[] {
  const list = Array.isArray(json) ? json : [json]
  const configs = list.map((one, index) => {
    if (!isJsonObject(one) || (Array.isArray(json) && !isConfig(one))) {
      const field = Array.isArray(json) ? `[${index}]` : 'The file'
      throw invalidInput(
        `${field} is no configuration; allowed is an object with a dataSource, a list of such, or the object of the cluster`,
      )
    }
    if (!isConfig(one)) {
      parseClusterConfig(one)
      return { dataSource: undefined, config: one }
    }
    const { dataSource } = parseCompactionConfig(one, Array.isArray(json) ? `[${index}]` : '')
    return { dataSource, config: one }
  })
  const names = configs.map(({ dataSource }) => dataSource)
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  if (twice !== undefined) throw invalidInput(`[${twice}] is there twice; allowed is each datasource once`)
  return configs
}

/** The JSON of a file, or of standard input for `-`. */
export function readJsonFile(file: string): unknown {
  return parseInputJson(readInputText(file, 'contents'), 'contents', inputName(file))
}
