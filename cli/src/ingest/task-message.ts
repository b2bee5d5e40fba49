/** The file of a request under two names. */
export interface NamesOfFile {
  /** The path that the overlord read. */
  readonly inputPath: string
  /** The path that the user gave. */
  readonly file: string
}

const optionOfField: Readonly<Record<string, string>> = {
  'spec.dataSchema.dataSource': '--datasource',
  'spec.dataSchema.timestampSpec.column': '--timestamp',
  'spec.dataSchema.timestampSpec.format': '--timestamp-format',
  'spec.dataSchema.granularitySpec.segmentGranularity': '--granularity',
  'spec.dataSchema.dimensionsSpec.dimensions': '--dimensions',
  'spec.ioConfig.inputFormat.type': '--format',
  'spec.ioConfig.inputSource.files[0]': 'file',
}

// No option allows invalid rows, so the limit is not part of the problem.
const tooManyRows =
  /The input has more than \[\d+\] invalid rows, the limit set by \[spec\.tuningConfig\.maxParseExceptions\]\. First invalid row: /

/** A message about a task, with the user's file and options in place of the fields of the task. */
export function inTermsOfRequest(message: string, { inputPath, file }: NamesOfFile): string {
  let text = message.replaceAll(inputPath, file).replace(tooManyRows, '')
  for (const [field, option] of Object.entries(optionOfField)) text = text.replaceAll(field, option)
  return text
    .replace(/for timestamp column \[[^\]]*\]/, '$& (--timestamp)')
    .replace(/expected format \[[^\]]*\]/, '$& (--timestamp-format)')
}

const options = Object.values(optionOfField).map((option) =>
  option.startsWith('--') ? option : `for [${option}]`,
)

/** Whether a message of `inTermsOfRequest` is about the file or an option, not about the cluster. */
export const isAboutRequest = (message: string): boolean => options.some((option) => message.includes(option))
