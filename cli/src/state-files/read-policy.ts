import { existsSync } from 'node:fs'
import { Failure, invalidInput, notFound } from '@svc/domain/failure'
import { type RulesPolicy, readRulesPolicy } from '@svc/domain/rules-policy'
import { isJsonObject } from '@svc/domain/validation'
import { problemsFailure, readStateFile } from './state-files.ts'

/** Reads a file with a policy for retention rules. Throws a Failure with file, line, and column. */
export function readPolicyFile(file: string): RulesPolicy {
  if (!existsSync(file)) throw notFound(`[${file}] does not exist`)
  const yaml = readStateFile(file)
  try {
    if (!isJsonObject(yaml.json))
      throw invalidInput('Invalid contents: expected an object with policy limits')
    return readRulesPolicy(yaml.json, '')
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    throw problemsFailure(
      [yaml],
      [{ source: file, field: error.context.field ?? '', message: error.message }],
    )
  }
}
