/** What a message of the overlord is told in the words of: the file and the options of the one who asked. */
export interface WordsOfRequest {
  /** Where the overlord read. */
  readonly inputPath: string
  /** The file as the user named it. */
  readonly file: string
}

const optionOfField: Readonly<Record<string, string>> = {
  'spec.dataSchema.dataSource': 'Option --datasource',
  'spec.dataSchema.timestampSpec.column': 'Option --timestamp',
  'spec.dataSchema.timestampSpec.format': 'Option --timestamp-format',
  'spec.dataSchema.granularitySpec.segmentGranularity': 'Option --granularity',
  'spec.dataSchema.dimensionsSpec.dimensions': 'Option --dimensions',
  'spec.ioConfig.inputFormat.type': 'Option --format',
  'spec.ioConfig.inputSource.files[0]': 'The file',
}

// No option says how many rows may be passed over: one that cannot be read is what is wrong.
const tooManyRows = /More rows cannot be read than spec\.tuningConfig\.maxParseExceptions\[\d+\] allows: /

/** A message about a task, with the file and the options that the user knows in place of the task's own words. */
export function inWordsOfRequest(message: string, { inputPath, file }: WordsOfRequest): string {
  let told = message.replaceAll(inputPath, file).replace(tooManyRows, '')
  for (const [field, option] of Object.entries(optionOfField)) told = told.replaceAll(field, option)
  return told
    .replace(/in timestamp column\[[^\]]*\]/, '$& (--timestamp)')
    .replace(/which should be of format\[[^\]]*\]/, '$& (--timestamp-format)')
}
